/* SPDX-License-Identifier: BSD-3-Clause */
/* Input and output by libc's syscall(); see io_hooks.h. */
#include "modes/io/hooks/io_hooks.h"

#include "host/real.h"

/* Numbers that older headers lack; they are the same on every architecture. */
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Values of FD that are no number of an argument. */
enum { BY_PATH = -1, BY_NOTHING = -2 };

struct call {
	long number;
	enum cp_io_op op;
	int fd;	    /* which argument, or one of the above */
	bool moves; /* the result is a number of bytes */
};

static const struct call calls[] = {
	{ SYS_read, CP_IO_READ, 0, true },
	{ SYS_pread64, CP_IO_READ, 0, true },
	{ SYS_readv, CP_IO_READ, 0, true },
	{ SYS_preadv, CP_IO_READ, 0, true },
	{ SYS_preadv2, CP_IO_READ, 0, true },
	{ SYS_write, CP_IO_WRITE, 0, true },
	{ SYS_pwrite64, CP_IO_WRITE, 0, true },
	{ SYS_writev, CP_IO_WRITE, 0, true },
	{ SYS_pwritev, CP_IO_WRITE, 0, true },
	{ SYS_pwritev2, CP_IO_WRITE, 0, true },
	{ SYS_recvfrom, CP_IO_RECV, 0, true },
	{ SYS_recvmsg, CP_IO_RECV, 0, true },
	{ SYS_sendto, CP_IO_SEND, 0, true },
	{ SYS_sendmsg, CP_IO_SEND, 0, true },
	{ SYS_copy_file_range, CP_IO_COPY, 2, true },
	{ SYS_sendfile, CP_IO_SENDFILE, 0, true },
	{ SYS_splice, CP_IO_SPLICE, 0, true },
	{ SYS_tee, CP_IO_SPLICE, 0, true },
	{ SYS_vmsplice, CP_IO_SPLICE, 0, true },
	{ SYS_getdents64, CP_IO_READDIR, 0, true },
	{ SYS_fsync, CP_IO_SYNC, 0, false },
	{ SYS_fdatasync, CP_IO_SYNC, 0, false },
	{ SYS_sync_file_range, CP_IO_SYNC, 0, false },
	{ SYS_close, CP_IO_CLOSE, 0, false },
	{ SYS_accept, CP_IO_ACCEPT, 0, false },
	{ SYS_accept4, CP_IO_ACCEPT, 0, false },
	{ SYS_connect, CP_IO_CONNECT, 0, false },
	{ SYS_fstat, CP_IO_STAT, 0, false },
	{ SYS_openat, CP_IO_OPEN, BY_PATH, false },
	{ SYS_openat2, CP_IO_OPEN, BY_PATH, false },
	{ SYS_newfstatat, CP_IO_STAT, BY_PATH, false },
	{ SYS_statx, CP_IO_STAT, BY_PATH, false },
	{ SYS_renameat, CP_IO_RENAME, BY_PATH, false },
	{ SYS_renameat2, CP_IO_RENAME, BY_PATH, false },
	{ SYS_unlinkat, CP_IO_UNLINK, BY_PATH, false },
	{ SYS_ppoll, CP_IO_POLL, BY_NOTHING, false },
	{ SYS_pselect6, CP_IO_POLL, BY_NOTHING, false },
	{ SYS_epoll_pwait, CP_IO_POLL, 0, false },
	{ SYS_epoll_pwait2, CP_IO_POLL, 0, false },
#ifdef SYS_open
	{ SYS_open, CP_IO_OPEN, BY_PATH, false },
	{ SYS_creat, CP_IO_OPEN, BY_PATH, false },
	{ SYS_stat, CP_IO_STAT, BY_PATH, false },
	{ SYS_lstat, CP_IO_STAT, BY_PATH, false },
	{ SYS_rename, CP_IO_RENAME, BY_PATH, false },
	{ SYS_unlink, CP_IO_UNLINK, BY_PATH, false },
	{ SYS_rmdir, CP_IO_UNLINK, BY_PATH, false },
	{ SYS_poll, CP_IO_POLL, BY_NOTHING, false },
	{ SYS_select, CP_IO_POLL, BY_NOTHING, false },
	{ SYS_epoll_wait, CP_IO_POLL, 0, false },
#endif
};

static const struct call *find_call(long number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

/* Forget the kinds of the descriptors that the call closes. */
static void before_call(long number, const long *a)
{
	switch (number) {
#ifdef SYS_dup2
	case SYS_dup2:
#endif
	case SYS_dup3: cp_io_kind_closed((int)a[1]); break;
	case SYS_close: cp_io_kind_closed((int)a[0]); break;
	case SYS_close_range: cp_io_kind_closed_all((unsigned)a[0], (unsigned)a[1]); break;
	}
}

static enum cp_fd_kind kind_of(const struct call *c, const long *a)
{
	switch (c->fd) {
	case BY_PATH: return CP_FD_PATH;
	case BY_NOTHING: return CP_FD_NOTHING;
	default: return cp_io_kind_of((int)a[c->fd]);
	}
}

/* Report a write to wakers. Returns true if the call is a read that may wait for a thread; WAIT
 * then follows it. */
static bool follows(long number, const long *a, struct cp_wakes_wait *wait)
{
	if (!cp_io_wake_is_on() || !cp_thread_libc_self())
		return false;
	switch (number) {
	case SYS_read:
	case SYS_readv: return cp_io_wake_wait(wait, (int)a[0]);
	case SYS_write:
	case SYS_writev:
		if (cp_io_wake_is_awaited((int)a[0]))
			cp_io_wake((int)a[0], 1, (const void *)CP_REAL(syscall));
		return false;
	default: return false;
	}
}

bool calls_by_number(long number, const long *a, long *result)
{
	const struct call *c = find_call(number);
	struct cp_wakes_wait wait;
	struct cp_io_call call;
	bool waits;

	if (!calls_measured())
		return false;
	call.kind = c && c->op == CP_IO_CLOSE ? kind_of(c, a) : CP_FD_NOTHING;
	before_call(number, a);
	if (!c)
		return false;
	call.op = c->op;
	call.on = ON_FD(c->fd >= 0 ? (int)a[c->fd] : -1);
	call.function = (const void *)CP_REAL(syscall);
	waits = follows(number, a, &wait);
	call.began = cp_io_event_now();
	*result = CP_REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (c->op != CP_IO_CLOSE)
		call.kind = kind_of(c, a);
	call.bytes = c->moves && *result > 0 ? (uint64_t)*result : 0;
	call.error = *result == -1 ? errno : 0;
	if ((c->op == CP_IO_OPEN || c->op == CP_IO_ACCEPT) && *result >= 0)
		cp_io_kind_closed((int)*result);
	cp_io_event_ended_anywhere(&call);
	if (waits)
		cp_io_wake_waited(&wait, (int)a[0], call.error, call.function);
	return true;
}
