/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that closes every descriptor and then opens its own: whatever number the profiler may
 * have held before, the program's files are its own. Also looks at what is open when.
 *
 *   descriptors close-range|close-loop FILE   FILE is written as descriptors 0 to 40
 *   descriptors close-connect PIPE            PIPE is written as descriptors 0 to 2
 *   descriptors lowest ROUNDS                 each descriptor that it opens has the lowest number
 *   descriptors locked                        it keeps a lock of fcntl's on its own binary
 *   descriptors [EXPECTED]                     what is open, at leisure; until it is as expected
 */
#include <dirent.h>
#include <sys/stat.h>

#include "host.h"

#define LAST 40
#define BLOCK "the program's own data\n"

__attribute__((noinline)) static void work(void)
{
	burn(0.1);
	__asm__ volatile("");
}

static void close_all(const char *how)
{
#ifdef SYS_close_range
	if (!strcmp(how, "close-range") && syscall(SYS_close_range, 0, ~0u, 0) == 0)
		return;
#endif
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
}

/* PATH becomes descriptor WANTED, whatever that is at the moment. */
static bool open_as(const char *path, int wanted)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd == wanted)
		return true;
	return fd >= 0 && dup2(fd, wanted) == wanted && (fd <= LAST || close(fd) == 0);
}

/* 0, or what is wrong as an exit status: there is nothing left to print to. */
__attribute__((noinline)) static int own_everything(const char *how, const char *path)
{
	char name[4096], got[sizeof(BLOCK)];
	int bad = 0;

	close_all(how);
	for (int fd = 0; fd <= LAST; fd++) {
		snprintf(name, sizeof(name), "%s.%d", path, fd);
		if (!open_as(name, fd))
			return 20;
	}
	work();
	for (int fd = 0; fd <= LAST; fd++)
		if (write(fd, BLOCK, sizeof(BLOCK) - 1) != sizeof(BLOCK) - 1)
			return 21;
	work();
	for (int fd = 0; fd <= LAST; fd++)
		if (pread(fd, got, sizeof(got), 0) != sizeof(BLOCK) - 1 ||
		    memcmp(got, BLOCK, sizeof(BLOCK) - 1) != 0)
			bad = 22;
	return bad;
}

/* As a daemon does whose next connection becomes a standard descriptor. */
static int connect_anew(const char *path)
{
	close(0);
	close(1);
	close(2);
	if (open(path, O_WRONLY) != 0 || dup(0) != 1 || dup(0) != 2)
		return 20;
	work();
	return write(2, BLOCK, sizeof(BLOCK) - 1) == sizeof(BLOCK) - 1 ? 0 : 21;
}

/* How many descriptors are open, and which is the highest. */
static int count_open(int *highest)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int n = 0;

	while ((e = readdir(d))) {
		int fd = atoi(e->d_name);

		if (e->d_name[0] == '.' || fd == dirfd(d))
			continue;
		*highest = fd > *highest || !n ? fd : *highest;
		n++;
	}
	closedir(d);
	return n;
}

/* Prints it. With EXPECTED: a dump may be under way at any look; a descriptor of the profiler is
 * gone at another look. */
static void list(const char *expected)
{
	char text[64];
	int n, highest = 0;

	for (int i = 0; i < 500; i++) {
		n = count_open(&highest);
		snprintf(text, sizeof(text), "%d descriptors, the highest is %d", n, highest);
		if (!expected || !strcmp(text, expected))
			break;
		usleep(5000);
	}
	puts(text);
}

/* open promises the lowest number that is free: programs close 0 and count on it. */
static int open_lowest(unsigned rounds)
{
	unsigned wrong = 0;
	int free_one = dup(1);

	close(free_one);
	for (unsigned i = 0; i < rounds; i++) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		wrong += fd != free_one;
		close(fd);
	}
	printf("%u of %u had another number\n", wrong, rounds);
	return wrong ? 23 : 0;
}

/* A process loses all its locks on a file when any descriptor of it is closed. */
static int keep_lock(const char *self)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int fd = open(self, O_RDONLY | O_CLOEXEC), status = 0;
	pid_t pid;

	if (fd < 0 || fcntl(fd, F_SETLK, &lock) != 0)
		return 24;
	work();
	work();
	pid = fork();
	if (!pid) {
		lock.l_type = F_WRLCK;
		_exit(fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type != F_RDLCK ? 25 : 0);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 26;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "lowest"))
		return open_lowest((unsigned)atoi(argv[2]));
	if (argc > 1 && !strcmp(argv[1], "locked"))
		return keep_lock("/proc/self/exe");
	if (argc > 2 && !strcmp(argv[1], "close-connect"))
		return connect_anew(argv[2]);
	if (argc > 2)
		return own_everything(argv[1], argv[2]);
	work();
	list(argc > 1 ? argv[1] : NULL);
	HOST_END();
}
