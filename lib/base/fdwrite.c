/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes to a descriptor without a signal for the program; see base.h. */
#include "base/base.h"

#include <errno.h>
#include <poll.h>

#include "base/sys.h"

/* Signals that a write may raise. SIGTTOU (a background process writes to its terminal) is not
 * even sent while it is blocked. */
#define RAISED_BY_WRITE (CP_SIGBIT(SIGXFSZ) | CP_SIGBIT(SIGPIPE) | CP_SIGBIT(SIGTTOU))

static uint64_t pending(void)
{
	uint64_t set = 0;

	cp_sys2(SYS_rt_sigpending, &set, sizeof(set));
	return set;
}

/* Takes the pending signals in SET, which are blocked, from the thread. */
static void consume(uint64_t set)
{
	struct timespec now = { 0, 0 };
	long r;

	if (!set)
		return;
	do
		r = cp_sys4(SYS_rt_sigtimedwait, &set, NULL, &now, sizeof(set));
	while (r == -EINTR);
}

static uint64_t raised_with(long r)
{
	return r == -EFBIG ? CP_SIGBIT(SIGXFSZ) : r == -EPIPE ? CP_SIGBIT(SIGPIPE) : 0;
}

/* Writes with RAISED_BY_WRITE blocked and removes the signal that this write raised. A signal that
 * was pending before is the program's and stays. The kernel sends the write's signal to this
 * thread before write returns, so no signal arrives late. */
static long write_quietly(int fd, const void *data, size_t n)
{
	uint64_t held = RAISED_BY_WRITE, mask, before;
	long r;

	cp_sys_sigmask(SIG_BLOCK, &held, &mask);
	before = pending();
	r = cp_sys_write(fd, data, n);
	consume(raised_with(r) & pending() & ~before);
	cp_sys_sigmask(SIG_SETMASK, &mask, NULL);
	return r;
}

static void wait_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	cp_sys5(SYS_ppoll, &p, 1, NULL, NULL, 0);
}

int cp_fdwrite_all(int fd, const void *data, size_t n, bool wait)
{
	const char *p = data;

	while (n) {
		long r = write_quietly(fd, p, n);

		if (r == -EAGAIN && wait) {
			wait_writable(fd);
		} else if (r > 0) {
			p += r;
			n -= (size_t)r;
		} else if (r != -EINTR) {
			return r ? (int)r : -EIO;
		}
	}
	return 0;
}
