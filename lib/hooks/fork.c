/* SPDX-License-Identifier: BSD-3-Clause */
/* fork, and daemon and forkpty, which fork within libc; clone, only to make room where the user may
 * have no more processes. (No function can do that for vfork, which returns twice.) vfork and clone
 * note that the child shares its parent's TLS. The handlers of pthread_atfork
 * (lib/session/fork_handlers.c) do what a child needs at once. A thread can be made only after all
 * handlers have run, because an allocator's child handler may be what unlocks the allocator.
 */
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

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

typedef pid_t (*vfork_function)(void);
vfork_function cp_fork_before_vfork(void);

/* Called by vfork, before the original. */
__attribute__((used)) vfork_function cp_fork_before_vfork(void)
{
	cp_profiled_shares_thread(true);
	return CP_REAL(vfork);
}

CP_JUMP_FUNCTION(vfork, cp_fork_before_vfork);
CP_JUMP_FUNCTION(__vfork, cp_fork_before_vfork);

INTERPOSE int clone(int (*f)(void *), void *stack, int flags, void *arg, ...)
{
	void *parent_tid, *tls, *child_tid;
	int tid, saved;
	va_list ap;

	/* Arguments that the caller didn't pass are garbage, which is passed on as libc does. */
	va_start(ap, arg);
	parent_tid = va_arg(ap, void *);
	tls = va_arg(ap, void *);
	child_tid = va_arg(ap, void *);
	va_end(ap);
	if ((flags & (CLONE_VM | CLONE_THREAD)) == CLONE_VM)
		cp_profiled_shares_thread(false);
	tid = CP_REAL(clone)(f, stack, flags, arg, parent_tid, tls, child_tid);
	saved = errno;
	if (tid < 0 && cp_process_gives_way(saved)) {
		tid = CP_REAL(clone)(f, stack, flags, arg, parent_tid, tls, child_tid);
		saved = errno;
		cp_process_thread_created();
	}
	errno = saved;
	return tid;
}

INTERPOSE int daemon(int nochdir, int noclose)
{
	/* The parent ends with libc's own _exit. */
	int pid = cp_process_daemon_begin();
	int result = CP_REAL(daemon)(nochdir, noclose);
	int saved = errno;

	/* The call returns in the child; after an error, in the caller or in the child. */
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
