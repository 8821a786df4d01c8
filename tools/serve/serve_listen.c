/* SPDX-License-Identifier: BSD-3-Clause */
/* See serve.h. */
#include "serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define BACKLOG 64

static bool is_port(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n && n <= 5 && !text[n] && atoi(text) <= 65535;
}

bool ct_serve_listen_split(const char *where, char host[256], char port[8])
{
	const char *colon = strrchr(where, ':'), *bracket = strrchr(where, ']');
	size_t n = strlen(where);

	strcpy(host, "127.0.0.1");
	strcpy(port, "6060");
	if (is_port(where)) {
		strcpy(port, where);
		return true;
	}
	if (colon && (!bracket || colon > bracket)) {
		if (!is_port(colon + 1))
			return false;
		strcpy(port, colon + 1);
		n = (size_t)(colon - where);
	}
	if (*where == '[' && n >= 2 && where[n - 1] == ']') {
		where++;
		n -= 2;
	} else if (memchr(where, ':', n) || memchr(where, '/', n)) {
		return false;
	}
	if (n >= 256 || (!n && !colon))
		return false;
	memcpy(host, where, n);
	host[n] = '\0';
	return true;
}

static bool is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >>
			       24 ==
		       127;
	return a->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static int listen_at(struct ct_serve_listen *l, const struct addrinfo *a)
{
	struct sockaddr_storage own;
	socklen_t size = sizeof(own);
	char host[200], port[8];
	int on = 1;

	l->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return -errno;
	setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(l->fd, a->ai_addr, a->ai_addrlen) || listen(l->fd, BACKLOG) ||
	    getsockname(l->fd, (struct sockaddr *)&own, &size) ||
	    getnameinfo((struct sockaddr *)&own, size, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV)) {
		int err = errno;

		close(l->fd);
		return -err;
	}
	l->loopback = is_loopback(a->ai_addr);
	snprintf(l->address, sizeof(l->address), strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
		 port);
	return 0;
}

int ct_serve_listen_open(struct ct_serve_listen *l, const char *where, char **why)
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM }, *found;
	char port[8];
	int err;

	if (!ct_serve_listen_split(where, l->host, port)) {
		*why = ct_memory_printf("-http=%s is no HOST:PORT, as 127.0.0.1:6060 or [::1]:6060",
					where);
		return -1;
	}
	err = getaddrinfo(*l->host ? l->host : NULL, port, &hints, &found);
	if (err) {
		*why = ct_memory_printf("-http=%s: %s", where, gai_strerror(err));
		return -1;
	}
	err = listen_at(l, found);
	freeaddrinfo(found);
	if (!err)
		return 0;
	*why = ct_memory_printf("-http=%s: %s%s", where, strerror(-err),
				err == -EADDRINUSE ? "; -http=127.0.0.1:0 takes a free port" : "");
	return -1;
}

bool ct_serve_listen_knows(const char *header, const char *name)
{
	char host[256], port[8];
	unsigned char address[sizeof(struct in6_addr)];

	/* HTTP/1.0, so it is no browser. */
	if (!header)
		return true;
	if (!ct_serve_listen_split(header, host, port))
		return false;
	return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1 ||
	       !strcasecmp(host, "localhost") || !strcasecmp(host, name);
}
