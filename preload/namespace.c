/* What a thread changes of itself alone: while it does, ours isn't there, and it comes back as what
 * the program has become. Only main's changes count so, and those of a thread that is alone.
 *
 * unshare and setns fail in a process of several threads. Capabilities, and how user ids affect
 * them, are each thread's own, but user ids libc changes in all: it aborts the process where a
 * thread that kept something, or lost it, sees another result than the others.
 *
 * close_range can give the caller a table of descriptors of its own, as unshare can: what ours had
 * of the table before would stay open, and the other ends of pipes wait for its close.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/syscall.h>

#include "interpose.h"
#include "real.h"
#include "session.h"

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

/* libc exports it without declaring it. */
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

/* Not every libc has it, and a look-up that fails allocates: its own is no more than the call. */
INTERPOSE int close_range(unsigned first, unsigned last, int flags);

INTERPOSE int close_range(unsigned first, unsigned last, int flags)
{
	bool parked;
	int result;

	if (!(flags & CLOSE_RANGE_UNSHARE))
		return (int)CP_REAL(syscall)(SYS_close_range, first, last, flags);
	parked = cp_session_park();
	result = (int)CP_REAL(syscall)(SYS_close_range, first, last, flags);
	cp_session_unpark(parked);
	return result;
}
