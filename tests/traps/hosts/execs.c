/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that become other programs without a fork.
 *
 *   execs work NAME    works in the function NAME (first, second, third) and ends with status 8
 *   execs NAME COMMAND...   works in NAME ("none": not at all), then becomes COMMAND
 *   execs failing      an exec that fails, then work in second()
 */
#include "host.h"

#define WORK_SECONDS 0.2 /* a busy machine may have no tick in less */

__attribute__((noinline)) static void first(void)
{
	burn(WORK_SECONDS);
	__asm__ volatile("");
}

__attribute__((noinline)) static void second(void)
{
	burn(WORK_SECONDS);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void third(void)
{
	burn(WORK_SECONDS);
	__asm__ volatile("" ::: "cc");
}

static void work_in(const char *name)
{
	if (!strcmp(name, "first"))
		first();
	else if (!strcmp(name, "second"))
		second();
	else if (!strcmp(name, "third"))
		third();
	else
		EXPECT(!strcmp(name, "none"));
}

static void fail_to_exec(void)
{
	char *argv[] = { "nothing", NULL };

	first();
	errno = 0;
	EXPECT(execv("/nonexistent/program", argv) == -1 && errno == ENOENT);
	EXPECT(execvp("no-such-program-anywhere", argv) == -1 && errno == ENOENT);
	EXPECT(execl("/", "nothing", (char *)NULL) == -1 && errno == EACCES);
	second();
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "failing")) {
		fail_to_exec();
		HOST_END();
	}
	if (argc < 3)
		return 97;
	if (!strcmp(argv[1], "work")) {
		work_in(argv[2]);
		return host_failures ? 1 : 8;
	}
	work_in(argv[1]);
	execvp(argv[2], argv + 2);
	return 98;
}
