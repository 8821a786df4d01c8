/* SPDX-License-Identifier: BSD-3-Clause */
/* Works with two threads, then becomes a program without the profiler that works on.
 *
 *   after-exec HOW      execve, spawn or fail (which exec does, and the program goes on)
 */
#include <spawn.h>

#include "host.h"

static void *work(void *arg)
{
	for (;;)
		burn(1);
	return NULL;
}

int main(int argc, char **argv)
{
	char *const args[] = { argv[0], NULL }, *const nothing[] = { NULL };
	int status = 0;
	pthread_t t;
	pid_t pid;

	if (argc < 2) {
		burn(0.15);
		puts("still here");
		HOST_END();
	}
	pthread_create(&t, NULL, work, NULL);
	burn(0.1);
	if (!strcmp(argv[1], "execve")) {
		execve(argv[0], args, nothing);
	} else if (!strcmp(argv[1], "fail")) {
		EXPECT(execve("/nonexistent", args, nothing) == -1);
		burn(0.1);
		puts("exec failed");
	} else {
		EXPECT(posix_spawn(&pid, argv[0], NULL, NULL, args, nothing) == 0);
		EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	}
	HOST_END();
}
