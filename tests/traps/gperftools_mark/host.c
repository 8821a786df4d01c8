/* SPDX-License-Identifier: BSD-3-Clause */
/* A program whose CPUPROFILE gets gperftools' mark, by a constructor as libprofiler's (where it
 * isn't linked with that itself), and four children: by fork and execve, by system, by posix_spawn,
 * and by fork alone.
 */
#include <spawn.h>

#include "host.h"

extern char **environ;

__attribute__((constructor)) static void mark(void)
{
	char *path = getenv("CPUPROFILE");

	if (path && *path)
		*path = (char)(*path | 0x80);
}

static void wait_for(pid_t child)
{
	int status = 1;

	waitpid(child, &status, 0);
	EXPECT(status == 0);
}

int main(int argc, char **argv)
{
	char *child[] = { argv[0], "child", NULL }, command[4096];
	pid_t pid;

	burn(0.1);
	if (argc > 1)
		return 0;
	pid = fork();
	if (!pid) {
		execv(argv[0], child);
		_exit(1);
	}
	wait_for(pid);
	snprintf(command, sizeof(command), "exec '%s' child", argv[0]);
	EXPECT(system(command) == 0);
	EXPECT(posix_spawn(&pid, argv[0], NULL, NULL, child, environ) == 0);
	wait_for(pid);
	pid = fork();
	if (!pid) {
		burn(0.1);
		exit(0);
	}
	wait_for(pid);
	HOST_END();
}
