/* SPDX-License-Identifier: BSD-3-Clause */
/* fork, and daemon and forkpty, which fork within libc. The handlers of pthread_atfork
 * (lib/session/fork_handlers.c) do what a child needs at once. A thread can be made only after all
 * handlers have run, because an allocator's child handler may be what unlocks the allocator.
 */
#include <errno.h>
#include <pty.h>
#include <unistd.h>

#include "host/host.h"
#include "session/session.h"
#include "host/real.h"

INTERPOSE pid_t fork(void)
{
	pid_t pid = CP_REAL(fork)();
	int saved = errno;

	if (pid < 0 && cp_process_gives_way(saved)) {
		pid = CP_REAL(fork)();
		saved = errno;
		if (pid)
			cp_process_thread_created();
		errno = saved;
	}
	if (pid == 0)
		cp_process_forked();
	return pid;
}

INTERPOSE int daemon(int nochdir, int noclose)
{
	/* The parent ends with libc's own _exit. */
	int pid = cp_process_daemon_begin();
	int result = CP_REAL(daemon)(nochdir, noclose);
	int saved = errno;

	/* The call returns in the child. After an error it returns in the caller, or the error is
	 * the child's. */
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
