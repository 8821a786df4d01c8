/* unshare and setns fail in a process of several threads: while they run, ours isn't there. */
#include <errno.h>
#include <sched.h>

#include "interpose.h"
#include "real.h"
#include "session.h"

INTERPOSE int unshare(int flags)
{
	int result, saved;

	cp_session_park(true);
	result = CP_REAL(unshare)(flags);
	saved = errno;
	cp_session_park(false);
	errno = saved;
	return result;
}

INTERPOSE int setns(int fd, int type)
{
	int result, saved;

	cp_session_park(true);
	result = CP_REAL(setns)(fd, type);
	saved = errno;
	cp_session_park(false);
	errno = saved;
	return result;
}
