/* SPDX-License-Identifier: BSD-3-Clause */
/* See browser.h. */
#include "verbs/browser.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs PROGRAM in a session of its own, so that the terminal's ^C doesn't reach the browser, and
 * without output. An exec that works closes FAILED. */
static void become(const char *const argv[], int failed)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	execvp(argv[0], (char *const *)argv);
	if (write(failed, "", 1) < 0)
		_exit(126);
	_exit(127);
}

/* Did PROGRAM start? Does not wait for its end, because it may be the browser itself. */
static bool start(const char *program, const char *file)
{
	int ends[2];
	char byte;
	pid_t pid;
	bool failed;

	if (pipe2(ends, O_CLOEXEC))
		return false;
	pid = fork();
	if (pid == 0)
		become((const char *const[]){ program, file, NULL }, ends[1]);
	close(ends[1]);
	failed = pid < 0 || read(ends[0], &byte, 1) != 0;
	close(ends[0]);
	if (failed && pid > 0)
		waitpid(pid, NULL, 0);
	return !failed;
}

void ct_browser_open(const char *file)
{
	char *path = realpath(file, NULL);

	if (!path || (!start("xdg-open", path) && !start("open", path)))
		fprintf(stderr,
			"cprof: -open: neither xdg-open nor open is here: open %s yourself\n",
			path ? path : file);
	free(path);
}
