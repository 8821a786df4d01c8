/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command as the one that adopts orphans below it, and says what was left when the command
 * had ended: how many processes, alive or dead; and how much memory it took, KiB. Its exit status
 * is the command's (128 + N for signal N). */
#include <dirent.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "system.h"

/* Processes whose parent we are. */
static int children(void)
{
	char path[64], line[4096];
	int count = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fgets(line, sizeof(line), f))
		for (char *s = line; *s; s++)
			count += *s == ' ';
	fclose(f);
	return count;
}

int main(int argc, char **argv)
{
	struct rusage used;
	int status;
	pid_t pid;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (!pid) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	wait4(pid, &status, 0, &used);
	fprintf(stderr, "left: %d\nmemory: %ld\n", children(), used.ru_maxrss);
	while (wait(NULL) > 0)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
