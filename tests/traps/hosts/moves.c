/* SPDX-License-Identifier: BSD-3-Clause */
/* Between start and end the ground moves: another directory, another root, another user.
 *
 *   moves system DIR COMMAND     changes directory, and starts a program by system()
 *   moves chdir DIR | chroot DIR | setuid UID | limit BYTES
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include "host.h"

__attribute__((noinline)) static void work(void)
{
	burn(0.05);
	__asm__ volatile("");
}

static void move(const char *how, const char *where, const char *command)
{
	if (!strcmp(how, "chdir")) {
		EXPECT(chdir(where) == 0);
	} else if (!strcmp(how, "system")) {
		EXPECT(chdir(where) == 0 && system(command) != -1);
	} else if (!strcmp(how, "chroot")) {
		EXPECT(chroot(where) == 0 && chdir("/") == 0);
	} else if (!strcmp(how, "setuid")) {
		EXPECT(setgid((gid_t)atoi(where)) == 0 && setuid((uid_t)atoi(where)) == 0);
		EXPECT(geteuid() == (uid_t)atoi(where));
	} else if (!strcmp(how, "limit")) {
		struct rlimit l = { (rlim_t)atol(where), (rlim_t)atol(where) };

		EXPECT(setrlimit(RLIMIT_FSIZE, &l) == 0);
	}
}

int main(int argc, char **argv)
{
	work();
	if (argc > 2)
		move(argv[1], argv[2], argc > 3 ? argv[3] : "true");
	work();
	puts("moved");
	HOST_END();
}
