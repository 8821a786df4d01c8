/* SPDX-License-Identifier: BSD-3-Clause */
/* The stat family: the link count of /proc/self/task tells the number of threads. Sandboxes
 * (Chromium's zygote, Firefox) end a process that has more than one thread there. So in a program
 * of one thread the collector is stopped while the program asks.
 *
 * The originals are called first, and once more without the collector if the result may count it.
 * Nearly all calls cost only a comparison, and a path is read only after the kernel has read it.
 * These functions may also be called in handlers, and in the child of a vfork.
 */

#include "host/real.h"
#include "modes/io/hooks/io_hooks.h"
#include "session/session.h"
#include "base/text.h"

/* The directory's own link, its parent's, and those of two threads: the program's and the
 * collector's. */
#define LINKS_OF_TWO 4

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one layout");

/* Return true if the last component of PATH, of N bytes, is "task". */
static bool is_task(const char *path, size_t n)
{
	while (n && path[n - 1] == '/')
		n--;
	return n >= 4 && !memcmp(path + n - 4, "task", 4) && (n == 4 || path[n - 5] == '/');
}

/* The same for FD, an open directory, if PATH is NULL or empty. */
static bool is_of_task(int fd, const char *path)
{
	char link[48], target[64];
	long n;

	if (path && *path)
		return is_task(path, strlen(path));
	cp_text_format(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = cp_sys4(SYS_readlinkat, AT_FDCWD, link, target, sizeof(target));
	return n > 0 && is_task(target, (size_t)n);
}

/* Only the kernel's own file systems have directories without a size. */
static bool may_count(const struct stat *s)
{
	return S_ISDIR(s->st_mode) && s->st_nlink == LINKS_OF_TWO && !s->st_size && !s->st_blocks;
}

static bool may_count_x(const struct statx *s)
{
	return S_ISDIR(s->stx_mode) && s->stx_nlink == LINKS_OF_TWO && !s->stx_size &&
	       !s->stx_blocks;
}

/* A call, and whether it is repeated with the collector stopped. */
struct asking {
	uint64_t began; /* 0: not measured */
	bool alone;
};

/* A has ended. Returns true if it must be repeated, because its result MAY count the collector and
 * A was not yet repeated. */
static __attribute__((noinline)) bool is_repeated(struct asking *a, int fd, const char *path,
						  int result, bool may, const void *function)
{
	if (a->alone) {
		cp_session_unpark(true);
		return false;
	}
	if (a->began)
		calls_stat_ended(a->began, fd, path, result, function);
	a->alone = may && is_of_task(fd, path) && cp_session_park_raw_task();
	return a->alone;
}

/* Return the result of CALL, which is the real function NAME's. CALL is repeated without the
 * collector if COUNTS says that its result may count the collector. The I/O mode measures the first
 * one. */
#define RETURN_ALONE(name, counts, fd, path, call)                                                 \
	struct asking a = { calls_begin(), false };                                                \
	bool may;                                                                                  \
	int result;                                                                                \
                                                                                                   \
	do {                                                                                       \
		result = (call);                                                                   \
		may = !result && (counts);                                                         \
	} while (__builtin_expect(                                                                 \
		(a.began || a.alone || may) &&                                                     \
			is_repeated(&a, fd, path, result, may, (const void *)cp_real.name),        \
		0));                                                                               \
	return result

/* stat for calls before the originals are known, which an allocator may make, and for names that
 * libc lacks. */
static __attribute__((noinline)) int raw(int dir, const char *path, struct stat *s, int flags)
{
	long r = cp_sys4(SYS_newfstatat, dir, path, s, flags);

	if (r < 0)
		errno = (int)-r;
	return r < 0 ? -1 : 0;
}

/* Define NAME, which has PARAMETERS, including TO, and passes ARGUMENTS on. It asks about FD if
 * PATH is NULL or empty. IN_RAW are the equivalent arguments of raw(). */
#define STAT(name, fd, path, parameters, arguments, in_raw)                                        \
	INTERPOSE int name parameters;                                                             \
	INTERPOSE int name parameters                                                              \
	{                                                                                          \
		struct stat *s = (void *)to;                                                       \
                                                                                                   \
		RETURN_ALONE(name, may_count(s), fd, path,                                         \
			     cp_real.name ? cp_real.name arguments : raw in_raw);                  \
	}

/* Programs built before glibc 2.33 call the OLD functions. Versions of the struct other than this
 * one do not exist on 64-bit systems. */
#define STATS(type, by_path, by_link, by_fd, at, old_by_path, old_by_link, old_by_fd, old_at)      \
	STAT(by_path, -1, path, (const char *path, struct type *to), (path, to),                   \
	     (AT_FDCWD, path, s, 0))                                                               \
	STAT(by_link, -1, path, (const char *path, struct type *to), (path, to),                   \
	     (AT_FDCWD, path, s, AT_SYMLINK_NOFOLLOW))                                             \
	STAT(by_fd, fd, NULL, (int fd, struct type *to), (fd, to), (fd, "", s, AT_EMPTY_PATH))     \
	STAT(at, dir, path, (int dir, const char *path, struct type *to, int flags),               \
	     (dir, path, to, flags), (dir, path, s, flags))                                        \
	STAT(old_by_path, -1, path, (int version, const char *path, struct type *to),              \
	     (version, path, to), (AT_FDCWD, path, s, 0))                                          \
	STAT(old_by_link, -1, path, (int version, const char *path, struct type *to),              \
	     (version, path, to), (AT_FDCWD, path, s, AT_SYMLINK_NOFOLLOW))                        \
	STAT(old_by_fd, fd, NULL, (int version, int fd, struct type *to), (version, fd, to),       \
	     (fd, "", s, AT_EMPTY_PATH))                                                           \
	STAT(old_at, dir, path,                                                                    \
	     (int version, int dir, const char *path, struct type *to, int flags),                 \
	     (version, dir, path, to, flags), (dir, path, s, flags))

STATS(stat, stat, lstat, fstat, fstatat, __xstat, __lxstat, __fxstat, __fxstatat)
STATS(stat64, stat64, lstat64, fstat64, fstatat64, __xstat64, __lxstat64, __fxstat64, __fxstatat64)

INTERPOSE int statx(int dir, const char *path, int flags, unsigned mask, struct statx *s)
{
	RETURN_ALONE(statx, may_count_x(s), dir, path, CP_REAL(statx)(dir, path, flags, mask, s));
}
