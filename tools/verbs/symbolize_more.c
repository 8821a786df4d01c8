/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of further processes, for the helper of a tree; see verbs.h. lib/output/helper.c is the
 * other end of the socket. */
#include "verbs/verbs.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/read.h"

/* The descriptor on which the library listens before it starts cprof. */
#define LISTENER 3
/* Files that end within this time are done together: each module's symbols are then read once. */
#define GATHER_SECONDS 0.1
/* The tree seems to have ended if no file comes for so long. */
#define LINGER_SECONDS 1.0
/* Most files and bytes that are in memory at once. */
#define FILES_MAX 100
#define BYTES_MAX (16 << 20)
/* A process sends its names right after it has connected. */
#define ANSWER_SECONDS 1
#define MESSAGE_MAX (256 << 10)

static bool is_full(const struct ct_symbolize_more *m)
{
	return m->count >= FILES_MAX || m->bytes >= BYTES_MAX;
}

static void add_names(struct ct_symbolize_more *m, const char *names, size_t size)
{
	struct stat st;

	for (const char *s = names; s < names + size; s += strlen(s) + 1) {
		if (!*s || lstat(s, &st) || !S_ISREG(st.st_mode))
			continue;
		m->bytes += (size_t)st.st_size;
		*CT_PUSH(m->files, m->count, m->room) = ct_memory_strdup(s);
	}
}

/* Returns the number of bytes that the other end of FD has sent; 0 or -1: it is another user's, or
 * has sent none. */
static ssize_t receive(int fd, char *names)
{
	const struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	struct ucred its;
	socklen_t n = sizeof(its);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &its, &n) || its.uid != geteuid())
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return recv(fd, names, MESSAGE_MAX, 0);
}

/* Takes the names that one process sends. Its connection is closed when its files are done. Returns
 * false if there is no connection. */
static bool take_one(struct ct_symbolize_more *m)
{
	int fd = accept4(LISTENER, NULL, NULL, SOCK_CLOEXEC);
	char *names = fd < 0 ? NULL : ct_memory_alloc(MESSAGE_MAX + 1);
	ssize_t got = fd < 0 ? -1 : receive(fd, names);

	if (got > 0) {
		add_names(m, names, (size_t)got);
		*CT_PUSH(m->connections, m->connection_count, m->connection_room) = fd;
	} else if (fd >= 0) {
		close(fd);
	}
	free(names);
	return fd >= 0;
}

/* Closes the connections and forgets the files. */
static void forget(struct ct_symbolize_more *m)
{
	for (size_t i = 0; i < m->connection_count; i++)
		close(m->connections[i]);
	for (size_t i = 0; i < m->count; i++)
		free(m->files[i]);
	m->count = m->connection_count = m->bytes = 0;
}

static void gather(struct ct_symbolize_more *m)
{
	struct pollfd p = { .fd = LISTENER, .events = POLLIN };
	double until = ct_now() + LINGER_SECONDS, left;
	size_t before = 0;

	while (!is_full(m) && (left = until - ct_now()) > 0 &&
	       poll(&p, 1, (int)(left * 1000) + 1) > 0 && take_one(m)) {
		if (!before && m->count)
			until = ct_now() + GATHER_SECONDS;
		before = m->count;
	}
}

/* Lets nobody else connect; a process that comes later starts a helper of its own. Those that have
 * connected already are served. */
static void leave(struct ct_symbolize_more *m)
{
	shutdown(LISTENER, SHUT_RDWR);
	while (!is_full(m) && take_one(m))
		continue;
}

void ct_symbolize_more_begin(struct ct_symbolize_more *m)
{
	*m = (struct ct_symbolize_more){ .count = 0 };
	getitimer(ITIMER_REAL, &m->limit);
}

bool ct_symbolize_more_wait(struct ct_symbolize_more *m)
{
	forget(m);
	setitimer(ITIMER_REAL, &m->limit, NULL);
	gather(m);
	if (!m->count)
		leave(m);
	if (m->count)
		return true;
	forget(m);
	free(m->connections);
	free(m->files);
	return false;
}
