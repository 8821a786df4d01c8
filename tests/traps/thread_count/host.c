/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the number of threads that the kernel shows to a program of one thread, by every way to
 * ask: sandboxes end a process that has more than one.
 */
#include <sys/stat.h>

#include "host.h"

/* glibc has them for programs that were built with an older one. */
int __xstat(int version, const char *path, struct stat *to);
int __lxstat(int version, const char *path, struct stat *to);
int __fxstat(int version, int fd, struct stat *to);
int __fxstatat(int version, int dir, const char *path, struct stat *to, int flags);
int __xstat64(int version, const char *path, struct stat64 *to);
int __lxstat64(int version, const char *path, struct stat64 *to);
int __fxstat64(int version, int fd, struct stat64 *to);
int __fxstatat64(int version, int dir, const char *path, struct stat64 *to, int flags);
#ifdef __x86_64__
#define VERSION 1
#else
#define VERSION 0
#endif

static struct stat s;
static struct stat64 s64;

/* CALL fills in LINKS. */
#define SAY(how, call, links)                                                                      \
	do {                                                                                       \
		int failed = (call);                                                               \
		printf("%s: %d threads\n", how, failed ? -1 : (int)(links)-2);                     \
	} while (0)

static void by_name(const char *path)
{
	struct statx x __attribute__((unused)); /* not all of musl's versions have it */

	SAY(path, stat(path, &s), s.st_nlink);
	SAY("stat64", stat64(path, &s64), s64.st_nlink);
	SAY("lstat", lstat(path, &s), s.st_nlink);
	SAY("lstat64", lstat64(path, &s64), s64.st_nlink);
	SAY("fstatat", fstatat(AT_FDCWD, path, &s, 0), s.st_nlink);
	SAY("fstatat64", fstatat64(AT_FDCWD, path, &s64, 0), s64.st_nlink);
#ifdef __GLIBC__
	SAY("statx", statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &x), x.stx_nlink);
#endif
	SAY("__xstat", __xstat(VERSION, path, &s), s.st_nlink);
	SAY("__lxstat", __lxstat(VERSION, path, &s), s.st_nlink);
	SAY("__fxstatat", __fxstatat(VERSION, AT_FDCWD, path, &s, 0), s.st_nlink);
	SAY("__xstat64", __xstat64(VERSION, path, &s64), s64.st_nlink);
	SAY("__lxstat64", __lxstat64(VERSION, path, &s64), s64.st_nlink);
	SAY("__fxstatat64", __fxstatat64(VERSION, AT_FDCWD, path, &s64, 0), s64.st_nlink);
}

static void by_descriptor(void)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY),
	    task = openat(proc, "self/task", O_RDONLY);
	struct statx x __attribute__((unused));

	SAY("self/task/", fstatat(proc, "self/task/", &s, 0), s.st_nlink);
	SAY("fstat", fstat(task, &s), s.st_nlink);
	SAY("fstat64", fstat64(task, &s64), s64.st_nlink);
	SAY("__fxstat", __fxstat(VERSION, task, &s), s.st_nlink);
	SAY("__fxstat64", __fxstat64(VERSION, task, &s64), s64.st_nlink);
#ifdef __GLIBC__
	SAY("statx", statx(task, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &x), x.stx_nlink);
#endif
	close(proc);
	close(task);
}

/* What it is told stays true while nothing else happens, and the file is as good as any. */
static void alone_in_a_child(void)
{
	int status = 0;

	if (!fork()) {
		by_name("/proc/self/task");
		fflush(stdout);
		_exit(unshare(CLONE_FS | CLONE_FILES));
	}
	wait(&status);
	printf("child: %d\n", status);
}

int main(void)
{
	char path[64];

	burn(0.2);
	snprintf(path, sizeof(path), "/proc/%d/task/", getpid());
	by_name("/proc/self/task");
	errno = 0;
	printf("%d %d\n", stat(path, &s), (int)s.st_nlink - 2);
	by_descriptor();
	EXPECT(stat("/proc/self/none", &s) == -1 && errno == ENOENT);
	EXPECT(stat((const char *)8, &s) == -1 && errno == EFAULT);
	fflush(stdout);
	alone_in_a_child();
	burn(0.2);
	HOST_END();
}
