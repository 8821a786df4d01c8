/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for descriptors to become ready. Their time is mostly a wait for work, and not for a slow
 * device; the label op=poll says so. */
#include "modes/io/hooks/io_hooks.h"

#define POLLS(name, parameters, arguments)                                                         \
	CALLS(int, name, CP_IO_POLL | CALLS_KIND(CP_IO_NOTHING), -1, parameters, arguments)

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
