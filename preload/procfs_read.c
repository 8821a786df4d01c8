/* Reads of /proc/self/stat and status, which say how many threads there are. Rust's time crate
 * gives no local time to a program that isn't alone; others won't fork. So in a program of one
 * thread ours isn't there while the kernel writes the text: at the first read, and at each from the
 * beginning.
 *
 * One descriptor is remembered, the last that was opened so: all others cost a comparison. stdio
 * opens and reads past us. Also in handlers, and in the child of a vfork.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose.h"
#include "real.h"
#include "session.h"
#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"

static uint32_t watched; /* 1 + descriptor; 0 = none */

/* PATH, which could be opened, is /proc/PID/stat or status, of whatever process. */
static bool tells(const char *path)
{
	const char *name;

	if (strncmp(path, "/proc/", 6) != 0 || !(name = strchr(path + 6, '/')))
		return false;
	return !strcmp(name, "/stat") || !strcmp(name, "/status");
}

static bool is_watched(int fd)
{
	return __builtin_expect(cp_load_relaxed(&watched) == (uint32_t)fd + 1, 0) && fd >= 0;
}

static int watch(int fd, const char *path)
{
	if (fd >= 0 && tells(path))
		cp_store_relaxed(&watched, (uint32_t)fd + 1);
	else if (is_watched(fd))
		cp_store_relaxed(&watched, 0);
	return fd;
}

/* Before the originals are known, as an allocator may come here. */
static long raw(long r)
{
	if (r < 0)
		errno = (int)-r;
	return r < 0 ? -1 : r;
}

/* What wasn't passed is garbage, which nobody looks at then. */
#define MODE_OF(last, mode)                                                                        \
	do {                                                                                       \
		va_list ap;                                                                        \
                                                                                                   \
		va_start(ap, last);                                                                \
		(mode) = va_arg(ap, mode_t);                                                       \
		va_end(ap);                                                                        \
	} while (0)

#define OPEN(name)                                                                                 \
	INTERPOSE int name(const char *path, int flags, ...)                                       \
	{                                                                                          \
		mode_t mode;                                                                       \
                                                                                                   \
		MODE_OF(flags, mode);                                                              \
		if (!cp_real.name)                                                                 \
			return (int)raw(cp_sys4(SYS_openat, AT_FDCWD, path, flags, mode));         \
		return watch(cp_real.name(path, flags, mode), path);                               \
	}

#define OPENAT(name)                                                                               \
	INTERPOSE int name(int dir, const char *path, int flags, ...)                              \
	{                                                                                          \
		mode_t mode;                                                                       \
                                                                                                   \
		MODE_OF(flags, mode);                                                              \
		if (!cp_real.name)                                                                 \
			return (int)raw(cp_sys4(SYS_openat, dir, path, flags, mode));              \
		return watch(cp_real.name(dir, path, flags, mode), path);                          \
	}

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* What programs that were built with _FORTIFY_SOURCE call. */
INTERPOSE int __open_2(const char *path, int flags);
INTERPOSE int __open_2(const char *path, int flags)
{
	return watch(CP_REAL(__open_2)(path, flags), path);
}

INTERPOSE int __open64_2(const char *path, int flags);
INTERPOSE int __open64_2(const char *path, int flags)
{
	return watch(CP_REAL(__open64_2)(path, flags), path);
}

INTERPOSE int close(int fd)
{
	if (is_watched(fd))
		cp_store_relaxed(&watched, 0);
	return cp_real.close ? cp_real.close(fd) : (int)raw(cp_sys1(SYS_close, fd));
}

#define RETURN_READ(fd, call)                                                                      \
	ssize_t got;                                                                               \
	bool parked;                                                                               \
                                                                                                   \
	if (!is_watched(fd))                                                                       \
		return (call);                                                                     \
	parked = cp_session_park_bare();                                                           \
	got = (call);                                                                              \
	cp_session_unpark(parked);                                                                 \
	return got

INTERPOSE ssize_t read(int fd, void *to, size_t n)
{
	RETURN_READ(fd, cp_real.read ? cp_real.read(fd, to, n) : raw(cp_sys3(SYS_read, fd, to, n)));
}

INTERPOSE ssize_t __read_chk(int fd, void *to, size_t n, size_t room);
INTERPOSE ssize_t __read_chk(int fd, void *to, size_t n, size_t room)
{
	RETURN_READ(fd, CP_REAL(__read_chk)(fd, to, n, room));
}

INTERPOSE ssize_t pread(int fd, void *to, size_t n, off_t at)
{
	RETURN_READ(fd, CP_REAL(pread)(fd, to, n, at));
}

INTERPOSE ssize_t pread64(int fd, void *to, size_t n, off64_t at)
{
	RETURN_READ(fd, CP_REAL(pread64)(fd, to, n, at));
}
