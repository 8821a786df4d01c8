/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths and peers of recorded calls; see io_signal.h. */
#include "modes/io/signal/io_signal.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/sys.h"
#include "base/text.h"

#define KEY "target"
#define TEXT_MAX CP_IO_TARGET_TEXT
#define NUMBER_MAX ((UINT32_C(1) << 24) - 1)

/* Copy the program's path, whose memory may be gone by now. Returns false if it isn't readable. */
static bool copy_path(char *to, const char *path)
{
	long n = cp_sys_peek_some(to, (uint64_t)(uintptr_t)path, TEXT_MAX - 1);

	if (n <= 0)
		return false;
	to[n] = '\0';
	return true;
}

static bool link_of(char *to, int fd)
{
	char link[48];
	long n;

	cp_text_format(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = cp_sys4(SYS_readlinkat, AT_FDCWD, link, to, TEXT_MAX - 1);
	if (n <= 0)
		return false;
	to[n] = '\0';
	return true;
}

/* Write the eight groups of an IPv6 address. Returns the end. */
static char *put_groups(char *to, const char *end, const uint8_t *x)
{
	for (unsigned i = 0; i < 16; i += 2) {
		cp_text_format(to, (size_t)(end - to), "%s%x", i ? ":" : "[",
			       (unsigned)x[i] << 8 | x[i + 1]);
		to += strlen(to);
	}
	return to;
}

bool cp_io_target_peer(char *to, int fd, bool last)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} a;
	const char *end = to + TEXT_MAX;
	unsigned size = sizeof(a), port;
	const uint8_t *x;

	memset(&a, 0, sizeof(a));
	if (cp_sys3(SYS_getpeername, fd, &a, &size) < 0)
		return false;
	/* The port is at the same place in both. */
	port = ntohs(a.in.sin_port);
	if (a.any.sa_family == AF_INET && !last) {
		x = (const uint8_t *)&a.in.sin_addr;
		cp_text_format(to, TEXT_MAX, "%u.%u.%u.%u", x[0], x[1], x[2], x[3]);
		to += strlen(to);
	} else if (a.any.sa_family == AF_INET6 && !last) {
		to = put_groups(to, end, a.in6.sin6_addr.s6_addr);
		*to++ = ']';
	}
	cp_text_format(to, (size_t)(end - to), ":%u", port);
	return true;
}

static bool find_target(char *to, const struct cp_io_call *c, bool last)
{
	if (c->on.path)
		return copy_path(to, c->on.path);
	/* A closed descriptor's number may be another thread's by now. */
	if (c->on.fd < 0 || c->op == CP_IO_CLOSE)
		return false;
	switch (c->kind) {
	case CP_FD_TCP:
	case CP_FD_UDP: return cp_io_target_peer(to, c->on.fd, last);
	case CP_FD_FILE:
	case CP_FD_DIRECTORY:
	case CP_FD_BLOCK:
	case CP_FD_TTY:
	case CP_FD_DEVICE: return link_of(to, c->on.fd);
	default: return false;
	}
}

const char *cp_io_target_last(const char *text)
{
	const char *last = text;

	for (const char *s = text; *s; s++)
		if (*s == '/' && s[1])
			last = s + 1;
	return last;
}

/* Not inlined, so that its text is only then on the stack, which may be a small alternate one. */
__attribute__((noinline)) static uint32_t number_of(const struct cp_io_call *c, bool last)
{
	char text[sizeof(KEY) + TEXT_MAX] = KEY, *value = text + sizeof(KEY);
	const char *kept;
	uint32_t number;
	size_t n;

	if (!find_target(value, c, last))
		return 0;
	kept = last ? cp_io_target_last(value) : value;
	n = strlen(kept);
	memmove(value, kept, n + 1);
	if (!n)
		return 0;
	number = cp_labelset_add(text, sizeof(KEY) + n + 1);
	return number <= NUMBER_MAX ? number : 0;
}

uint32_t cp_io_target_of(const struct cp_io_call *c, int allowed)
{
	return allowed == CP_IO_TARGET_NONE ? 0 : number_of(c, allowed == CP_IO_TARGET_LAST);
}

const char *cp_io_target_text(uint32_t number)
{
	size_t size;

	return cp_labelset_text(number, &size) + sizeof(KEY);
}
