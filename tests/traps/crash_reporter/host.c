/* SPDX-License-Identifier: BSD-3-Clause */
/* A crash whose handler, on an alternate stack, starts another program, as reporters of crashes do.
 * It needs little of the stack, and the memory below the stack must not be touched.
 *
 *   crash-reporter fork|vfork|spawn [VARIABLES]    with an environment of so many more
 */
#include <limits.h>
#include <spawn.h>

#include "system.h"
#include "signal_frame.h"

#define PAGE ((size_t)4096)
/* For the handler and all that it calls: libc's fork and exec take some hundred bytes. musl's
 * posix_spawn has room for a path in its frame. */
#ifdef __GLIBC__
#define ROOM ((size_t)4096)
#else
#define ROOM ((size_t)4096 + PATH_MAX)
#endif

extern char **environ;
static const char *how;
static volatile int *volatile nowhere = (int *)16;
static char *arguments[] = { (char *)"crash-reporter", (char *)"reported", NULL };

static void on_fault(int sig)
{
	int status = -1;
	pid_t pid = -1;

	if (!strcmp(how, "fork"))
		pid = fork();
	else if (!strcmp(how, "vfork"))
		pid = vfork();
	else if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ))
		_exit(4);
	if (!pid) {
		execve("/proc/self/exe", arguments, environ);
		_exit(5);
	}
	if (waitpid(pid, &status, 0) != pid)
		_exit(6);
	_exit(status == 3 << 8 ? 7 : 8);
}

/* The last page below is nobody's. */
static void set_alternate(void)
{
	size_t size = signal_frame_size() + ROOM;
	char *area;
	stack_t s = { .ss_flags = 0 };

	area = mmap(NULL, PAGE + size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	EXPECT(area != MAP_FAILED && mprotect(area, PAGE, PROT_NONE) == 0);
	s.ss_sp = area + PAGE;
	s.ss_size = size;
	EXPECT(sigaltstack(&s, NULL) == 0);
}

static void fill_environment(int n)
{
	char name[32];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "VARIABLE_%d", i);
		setenv(name, "value", 1);
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK };

	how = argc > 1 ? argv[1] : "fork";
	if (!strcmp(how, "reported"))
		return 3;
	fill_environment(argc > 2 ? atoi(argv[2]) : 0);
	burn(0.05);
	set_alternate();
	EXPECT(sigaction(SIGSEGV, &act, NULL) == 0);
	fflush(stdout);
	*nowhere = 1;
	return 9;
}
