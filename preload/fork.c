/* fork, and daemon and forkpty, which fork within libc. pthread_atfork's handlers (lib/fork.c) do
 * what a child needs at once; making a thread has to wait until everybody's have run: an
 * allocator's child handler may be what unlocks it.
 */
#include <errno.h>
#include <pty.h>
#include <unistd.h>

#include "interpose.h"
#include "process.h"
#include "real.h"

INTERPOSE pid_t fork(void)
{
	pid_t pid = CP_REAL(fork)();

	if (pid == 0)
		cp_process_forked();
	return pid;
}

INTERPOSE int daemon(int nochdir, int noclose)
{
	/* The parent ends by libc's own _exit. */
	int pid = cp_process_daemon_begin();
	int result = CP_REAL(daemon)(nochdir, noclose);
	int saved = errno;

	/* Back in the child; an error leaves the caller where it was, or is its child's. */
	cp_process_daemon_end(pid);
	cp_process_forked();
	errno = saved;
	return result;
}

INTERPOSE int forkpty(int *leader, char *name, const struct termios *settings,
		      const struct winsize *size)
{
	int pid;

	if (!CP_REAL(forkpty)) {
		errno = ENOSYS;
		return -1;
	}
	pid = CP_REAL(forkpty)(leader, name, settings, size);
	if (pid == 0)
		cp_process_forked();
	return pid;
}
