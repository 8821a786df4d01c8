/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that change only the calling thread. The collector ends before such a call, and starts
 * again afterwards with the program's new state. Only the changes of main count in this way, and
 * those of a thread that is alone.
 *
 * unshare and setns fail in a process of several threads. Capabilities, and how user ids affect
 * them, belong to each thread, but libc changes user ids in all threads. It aborts the process if a
 * thread that kept or lost a capability gets another result than the others.
 *
 * close_range can give the caller its own table of descriptors, as unshare can. The collector's
 * reference to the old table would keep its files open, and the other ends of pipes would wait for
 * their close.
 *
 * mq_notify is here because it depends on descriptors, too: the collector must not close any after
 * the call.
 */
#include <grp.h>
#include <linux/close_range.h>
#include <unistd.h>

#include "host/real.h"
#include "modes/io/hooks/io_hooks.h"
#include "session/session.h"
#include "unwind/unwind.h"

/* Defined in <linux/close_range.h> since Linux 5.11. */
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

INTERPOSE int unshare(int flags)
{
	bool parked = cp_session_park();
	int result;

	result = CP_REAL(unshare)(flags);
	cp_session_unpark(parked);
	return result;
}

INTERPOSE int setns(int fd, int type)
{
	bool parked = cp_session_park();
	int result;

	result = CP_REAL(setns)(fd, type);
	cp_session_unpark(parked);
	return result;
}

/* libc exports capset without declaring it. */
INTERPOSE int capset(void *header, const void *data);

INTERPOSE int capset(void *header, const void *data)
{
	bool parked;
	int result;

	if (!CP_REAL(capset)) {
		errno = ENOSYS;
		return -1;
	}
	parked = cp_session_park();
	result = CP_REAL(capset)(header, data);
	cp_session_unpark(parked);
	return result;
}

/* Not every libc has close_range, and a look-up that fails allocates. libc's function is no more
 * than the system call. */
INTERPOSE int close_range(unsigned first, unsigned last, int flags);

INTERPOSE int close_range(unsigned first, unsigned last, int flags)
{
	bool parked;
	int result;

	if (calls_measured() && !(flags & CLOSE_RANGE_CLOEXEC))
		cp_io_kind_closed_all(first, last);
	if (!(flags & CLOSE_RANGE_UNSHARE))
		return (int)CP_REAL(syscall)(SYS_close_range, first, last, flags);
	parked = cp_session_park();
	result = (int)CP_REAL(syscall)(SYS_close_range, first, last, flags);
	cp_session_unpark(parked);
	return result;
}

INTERPOSE int mq_notify(mqd_t queue, const struct sigevent *event)
{
	if (!CP_REAL(mq_notify)) {
		errno = ENOSYS;
		return -1;
	}
	if (event)
		cp_process_awaits_queue();
	return CP_REAL(mq_notify)(queue, event);
}

/* setuid and its relatives. libc changes all threads that it knows, so where libc knows the
 * collector nothing needs to be done here. In a program of one thread libc does not know the
 * collector. There the collector ends before the call, and starts again afterwards with the
 * program's new credentials.
 *
 * These functions may also be called in handlers, and in the child of a vfork, which is not the
 * session's process. */

#define ALONE(name, parameters, arguments)                                                         \
	INTERPOSE int name parameters                                                              \
	{                                                                                          \
		bool parked = cp_session_park_raw_task();                                          \
		int result = CP_REAL(name) arguments;                                              \
                                                                                                   \
		cp_session_unpark(parked);                                                         \
		return result;                                                                     \
	}

ALONE(setuid, (uid_t id), (id))
ALONE(setgid, (gid_t id), (id))
ALONE(seteuid, (uid_t id), (id))
ALONE(setegid, (gid_t id), (id))
ALONE(setreuid, (uid_t real, uid_t effective), (real, effective))
ALONE(setregid, (gid_t real, gid_t effective), (real, effective))
ALONE(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
ALONE(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
ALONE(setgroups, (size_t n, const gid_t *groups), (n, groups))
ALONE(initgroups, (const char *user, gid_t group), (user, group))

extern int own_setuid(uid_t id)
	__attribute__((alias("setuid"), visibility("hidden"), nothrow, leaf));

/* If the library is loaded late, privately, or after libc, the program's calls don't come here. */
void init_credentials(void)
{
	if (cp_loaded_first("setuid") == (void *)(uintptr_t)own_setuid)
		cp_process_is_interposed();
}
