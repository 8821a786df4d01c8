/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on sockets, and getaddrinfo. */
#include "modes/io/hooks/io_hooks.h"

/* A new descriptor has no kind yet. */
static inline int is_new(int fd)
{
	if (fd >= 0)
		cp_io_kind_closed(fd);
	return fd;
}

#define ACCEPTS(name, parameters, arguments)                                                       \
	SLOW static int measured_##name parameters                                                 \
	{                                                                                          \
		return is_new(CALLS_MEASURE(name, CP_IO_ACCEPT, fd, arguments));                   \
	}                                                                                          \
                                                                                                   \
	INTERPOSE int name parameters                                                              \
	{                                                                                          \
		return OFF() ? cp_io_real.name arguments : measured_##name arguments;              \
	}

ACCEPTS(accept, (int fd, struct sockaddr *a, socklen_t *n), (fd, a, n))
ACCEPTS(accept4, (int fd, struct sockaddr *a, socklen_t *n, int flags), (fd, a, n, flags))

CALLS(int, connect, CP_IO_CONNECT, fd, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n))

#define RECEIVES(name, parameters, arguments)                                                      \
	CALLS(ssize_t, name, CP_IO_RECV | CALLS_MOVES, fd, parameters, arguments)
#define SENDS(name, parameters, arguments)                                                         \
	CALLS(ssize_t, name, CP_IO_SEND | CALLS_MOVES, fd, parameters, arguments)

RECEIVES(recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags))
RECEIVES(recvfrom, (int fd, void *to, size_t n, int flags, struct sockaddr *a, socklen_t *size),
	 (fd, to, n, flags, a, size))
RECEIVES(recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags))
RECEIVES(__recv_chk, (int fd, void *to, size_t n, size_t room, int flags), (fd, to, n, room, flags))
RECEIVES(__recvfrom_chk,
	 (int fd, void *to, size_t n, size_t room, int flags, struct sockaddr *a, socklen_t *size),
	 (fd, to, n, room, flags, a, size))
SENDS(send, (int fd, const void *from, size_t n, int flags), (fd, from, n, flags))
SENDS(sendto,
      (int fd, const void *from, size_t n, int flags, const struct sockaddr *a, socklen_t size),
      (fd, from, n, flags, a, size))
SENDS(sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))

/* COUNT messages of M were moved on FD; -1: none, and errno says why. */
static int messages_ended(uint64_t began, enum cp_io_op op, int fd, const struct mmsghdr *m,
			  int count, const void *function)
{
	struct cp_io_call c = { .began = began,
				.op = op,
				.kind = cp_io_kind_of(fd),
				.on = ON_FD(fd),
				.error = count == -1 ? errno : 0,
				.function = function };

	for (int i = 0; i < count; i++)
		c.bytes += m[i].msg_len;
	cp_io_event_ended(&c);
	return count;
}

#define MESSAGES(name, op, parameters, arguments)                                                  \
	SLOW static int measured_##name parameters                                                 \
	{                                                                                          \
		__typeof__(cp_io_real.name) real = CP_IO_REAL(name);                               \
		uint64_t began = calls_began();                                                    \
		int count = real arguments;                                                        \
                                                                                                   \
		return began ? messages_ended(began, op, fd, m, count, (const void *)real)         \
			     : count;                                                              \
	}                                                                                          \
                                                                                                   \
	INTERPOSE int name parameters                                                              \
	{                                                                                          \
		return OFF() ? cp_io_real.name arguments : measured_##name arguments;              \
	}

MESSAGES(recvmmsg, CP_IO_RECV,
	 (int fd, struct mmsghdr *m, unsigned n, cp_libc_mmsg_flags flags,
	  struct timespec *timeout),
	 (fd, m, n, flags, timeout))
MESSAGES(sendmmsg, CP_IO_SEND, (int fd, struct mmsghdr *m, unsigned n, cp_libc_mmsg_flags flags),
	 (fd, m, n, flags))

SLOW static int measured_getaddrinfo(const char *node, const char *service,
				     const struct addrinfo *hints, struct addrinfo **to)
{
	__typeof__(cp_io_real.getaddrinfo) real = CP_IO_REAL(getaddrinfo);
	uint64_t began;
	int result;

	if (!calls_measured())
		return real(node, service, hints, to);
	began = cp_io_event_now();
	result = real(node, service, hints, to);
	cp_io_event_ended(&(struct cp_io_call){ .began = began,
						.op = CP_IO_RESOLVE,
						.kind = CP_FD_NOTHING,
						.on = ON_NOTHING,
						/* getaddrinfo's own error numbers are not errno
						 * values. */
						.error = result == EAI_SYSTEM ? errno
							 : result	      ? EINVAL
									      : 0,
						.function = (const void *)real });
	return result;
}

INTERPOSE int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
			  struct addrinfo **to)
{
	return OFF() ? cp_io_real.getaddrinfo(node, service, hints, to)
		     : measured_getaddrinfo(node, service, hints, to);
}

/* Waits for descriptors to become ready. Their time is mostly a wait for work, and not for a slow
 * device; the label op=poll says so. */

#define POLLS(name, parameters, arguments)                                                         \
	CALLS(int, name, CP_IO_POLL | CALLS_KIND(CP_FD_NOTHING), -1, parameters, arguments)

POLLS(poll, (struct pollfd * f, nfds_t n, int timeout), (f, n, timeout))
POLLS(ppoll, (struct pollfd * f, nfds_t n, const struct timespec *timeout, const sigset_t *mask),
      (f, n, timeout, mask))
POLLS(__poll_chk, (struct pollfd * f, nfds_t n, int timeout, size_t room), (f, n, timeout, room))
POLLS(__ppoll_chk,
      (struct pollfd * f, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
       size_t room),
      (f, n, timeout, mask, room))
POLLS(select, (int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout),
      (n, in, out, except, timeout))
POLLS(pselect,
      (int n, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
       const sigset_t *mask),
      (n, in, out, except, timeout, mask))
CALLS(int, epoll_wait, CP_IO_POLL, fd, (int fd, struct epoll_event *e, int n, int timeout),
      (fd, e, n, timeout))
CALLS(int, epoll_pwait, CP_IO_POLL, fd,
      (int fd, struct epoll_event *e, int n, int timeout, const sigset_t *mask),
      (fd, e, n, timeout, mask))
CALLS_IF(int, epoll_pwait2, CP_IO_POLL, fd,
	 (int fd, struct epoll_event *e, int n, const struct timespec *timeout,
	  const sigset_t *mask),
	 (fd, e, n, timeout, mask))
