/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts programs, this one itself in fact, in every way that there is; the new program works, and
 * its work must be in a file of its own.
 *
 *   spawns WAY    vfork, vfork-fails, spawn, spawnp, clone, system, popen, fork-exec, raw-fork
 *   spawns child  what they run
 */
#include <spawn.h>

#include "host.h"

#define WORK_SECONDS 0.05

static char *self;
static char *child_argv[] = { NULL, "child", NULL };

__attribute__((noinline)) static void parent_work(void)
{
	burn_and_tick(WORK_SECONDS);
	__asm__ volatile("");
}

__attribute__((noinline)) static void child_work(void)
{
	burn_and_tick(WORK_SECONDS);
	__asm__ volatile("" ::: "memory");
}

static int wait_for(pid_t pid)
{
	int status = -1;

	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
	return status;
}

static void by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execv(self, child_argv);
		_exit(126);
	}
	EXPECT(wait_for(pid) == 6 << 8);
}

static void by_vfork_that_fails(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/nonexistent/program", "program", (char *)NULL);
		_exit(127);
	}
	EXPECT(wait_for(pid) == 127 << 8);
}

static void by_spawn(void)
{
	pid_t pid;

	EXPECT(posix_spawn(&pid, self, NULL, NULL, child_argv, environ) == 0);
	EXPECT(wait_for(pid) == 6 << 8);
	EXPECT(posix_spawn(&pid, "/nonexistent", NULL, NULL, child_argv, environ) == ENOENT);
}

static void by_spawnp(void)
{
	pid_t pid;

	EXPECT(posix_spawnp(&pid, self, NULL, NULL, child_argv, environ) == 0);
	EXPECT(wait_for(pid) == 6 << 8);
}

static int run_child(void *arg)
{
	execve(self, child_argv, environ);
	_exit(126);
}

static void by_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid = clone(run_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);

	EXPECT(wait_for(pid) == 6 << 8);
}

static void by_system(void)
{
	char command[4200];

	snprintf(command, sizeof(command), "'%s' child", self);
	EXPECT(system(command) == 6 << 8);
}

static void by_popen(void)
{
	char command[4200], line[64] = "";
	FILE *f;

	snprintf(command, sizeof(command), "'%s' child", self);
	f = popen(command, "r");
	EXPECT(f && fgets(line, sizeof(line), f));
	EXPECT(!strcmp(line, "child\n"));
	EXPECT(pclose(f) == 6 << 8);
	fputs("child\n", stdout);
}

static void by_fork_and_exec(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execvp(self, child_argv);
		_exit(126);
	}
	EXPECT(wait_for(pid) == 6 << 8);
}

/* Past every hook of libc: the child knows nothing of its being one. */
static void by_raw_fork(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0) {
		child_work();
		_exit(6);
	}
	EXPECT(wait_for(pid) == 6 << 8);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		execv(self, child_argv);
		_exit(126);
	}
	EXPECT(wait_for(pid) == 6 << 8);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{ "vfork", by_vfork },	     { "vfork-fails", by_vfork_that_fails },
	{ "spawn", by_spawn },	     { "spawnp", by_spawnp },
	{ "clone", by_clone },	     { "system", by_system },
	{ "popen", by_popen },	     { "fork-exec", by_fork_and_exec },
	{ "raw-fork", by_raw_fork },
};

/* The name is this process's: whoever was there meanwhile has not written to it. */
static void expect_name_is_free(void)
{
	const char *profile = getenv("CPUPROFILE");

	EXPECT(!profile || access(profile, F_OK) < 0);
}

int main(int argc, char **argv)
{
	self = child_argv[0] = argv[0];
	if (argc > 1 && !strcmp(argv[1], "child")) {
		child_work();
		puts("child");
		return 6;
	}
	parent_work();
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (argc > 1 && !strcmp(argv[1], ways[i].name))
			ways[i].run();
	expect_name_is_free();
	parent_work();
	HOST_END();
}
