/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command as a debugger that follows everything that the command starts, and prints the
 * number of processes (threads don't count). Its exit status is the command's (128 + N for signal
 * N). */
#include <sys/ptrace.h>

#include "system.h"

#define FOLLOW                                                                                     \
	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |     \
	 PTRACE_O_EXITKILL)

/* The number of TASK's process. */
static int process_of(int task)
{
	char path[64], line[256];
	int number = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", task);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &number) == 1)
			break;
	if (f)
		fclose(f);
	return number;
}

/* The signal that is passed on when a stopped task continues. */
static int signal_of(int status)
{
	bool of_ours = status >> 16 || WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGSTOP;

	return of_ours ? 0 : WSTOPSIG(status);
}

int main(int argc, char **argv)
{
	int status, end = 0, processes = 0;
	pid_t first = fork(), task;

	if (!first) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	waitpid(first, &status, 0);
	ptrace(PTRACE_SETOPTIONS, first, NULL, FOLLOW);
	ptrace(PTRACE_CONT, first, NULL, NULL);
	while ((task = waitpid(-1, &status, __WALL)) > 0) {
		unsigned long made = 0;

		if (!WIFSTOPPED(status)) {
			end = task == first ? status : end;
			continue;
		}
		if (status >> 16 && ptrace(PTRACE_GETEVENTMSG, task, NULL, &made) == 0 &&
		    status >> 16 != PTRACE_EVENT_EXEC)
			processes += process_of((int)made) != first;
		ptrace(PTRACE_CONT, task, NULL, signal_of(status));
	}
	fprintf(stderr, "processes: %d\n", processes);
	return WIFSIGNALED(end) ? 128 + WTERMSIG(end) : WEXITSTATUS(end);
}
