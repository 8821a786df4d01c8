/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command and reaps its threads late: one that has ended counts for the kernel until some
 * thread of the command has asked twice whether it is still there (tgkill without a signal), or the
 * command ends. So what happens for some microseconds, or not at all, lasts until it is waited for.
 * Forked children are left alone. The exit status is the command's, 128 + N for signal N; 77: no
 * ptrace here. */
#include <sys/ptrace.h>

#include "system.h"

#define OPTIONS                                                                                    \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)

static pid_t leader;
static int result;
static bool ending; /* a child that ends is reaped at once */
static unsigned char asked[1 << 16];

/* True: somebody's end, or stop. */
static bool wait_for(idtype_t which, pid_t tid, int what, siginfo_t *info)
{
	info->si_pid = 0;
	if (waitid(which, (id_t)tid, info, what | __WALL) || !info->si_pid)
		return false;
	if (info->si_pid == leader && info->si_code != CLD_TRAPPED && info->si_code != CLD_STOPPED)
		result = info->si_code == CLD_EXITED ? info->si_status : 128 + info->si_status;
	return true;
}

static void begin_call(const struct __ptrace_syscall_info *s)
{
	pid_t target = (pid_t)s->entry.args[1];
	siginfo_t info;

	if (s->entry.nr == SYS_tgkill && !s->entry.args[2]) {
		if (asked[target & 0xffff]++)
			wait_for(P_PID, target, WEXITED | WNOHANG, &info);
	} else if (s->entry.nr == SYS_exit_group) {
		ending = true;
		while (wait_for(P_ALL, 0, WEXITED | WNOHANG, &info))
			;
	}
}

static void go_on(pid_t tid, int status)
{
	struct __ptrace_syscall_info s = { 0 };
	int sig = status & 0xff;

	if (sig == (SIGTRAP | 0x80)) {
		if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(s), &s) > 0 &&
		    s.op == PTRACE_SYSCALL_INFO_ENTRY)
			begin_call(&s);
		sig = 0;
	} else if (status >> 8 || sig == SIGSTOP) {
		sig = 0; /* a clone, an exec, a thread's first stop */
	}
	ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(long)sig); /* NOLINT */
}

/* Until nobody is left. Those who have ended and were not asked for come last. */
static void watch(void)
{
	siginfo_t info;

	for (;;) {
		if (!wait_for(P_ALL, 0, WSTOPPED | (ending ? WEXITED : 0), &info)) {
			if (errno == ECHILD && ending)
				return;
			ending |= errno == ECHILD;
		} else if (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED) {
			go_on(info.si_pid, info.si_status);
		}
	}
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 2)
		return 126;
	leader = fork();
	if (!leader) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(77);
		raise(SIGSTOP);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (waitpid(leader, &status, 0) != leader || !WIFSTOPPED(status))
		return 77;
	if (ptrace(PTRACE_SETOPTIONS, leader, NULL, (void *)(long)OPTIONS)) { /* NOLINT */
		kill(leader, SIGKILL);
		return 77;
	}
	ptrace(PTRACE_SYSCALL, leader, NULL, NULL);
	watch();
	return result;
}
