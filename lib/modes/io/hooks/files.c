/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on an open descriptor: read, write, their variants and large-file and fortified names;
 * fsync; copies from descriptor to descriptor. And everything that closes a
 * descriptor, because the mode keeps the kinds of descriptors (io_signal.h).
 */
#include "modes/io/hooks/io_hooks.h"

#include <stdarg.h>

WAITING_READS(read, (int fd, void *to, size_t n), (fd, to, n))
READS(pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
READS(pread64, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at))
WAITING_READS(readv, (int fd, const struct iovec *v, int n), (fd, v, n))
READS(preadv, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
READS(preadv64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at))
WAITING_READS(__read_chk, (int fd, void *to, size_t n, size_t room), (fd, to, n, room))
READS(__pread_chk, (int fd, void *to, size_t n, off_t at, size_t room), (fd, to, n, at, room))
READS(__pread64_chk, (int fd, void *to, size_t n, off64_t at, size_t room), (fd, to, n, at, room))
WAKING_WRITES(write, (int fd, const void *from, size_t n), (fd, from, n))
WRITES(pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))
WRITES(pwrite64, (int fd, const void *from, size_t n, off64_t at), (fd, from, n, at))
WAKING_WRITES(writev, (int fd, const struct iovec *v, int n), (fd, v, n))
WRITES(pwritev, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
WRITES(pwritev64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at))

CALLS_IF(ssize_t, preadv2, CP_IO_READ | CALLS_MOVES, fd,
	 (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags))
CALLS_IF(ssize_t, preadv64v2, CP_IO_READ | CALLS_MOVES, fd,
	 (int fd, const struct iovec *v, int n, off64_t at, int flags), (fd, v, n, at, flags))
CALLS_IF(ssize_t, pwritev2, CP_IO_WRITE | CALLS_MOVES, fd,
	 (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags))
CALLS_IF(ssize_t, pwritev64v2, CP_IO_WRITE | CALLS_MOVES, fd,
	 (int fd, const struct iovec *v, int n, off64_t at, int flags), (fd, v, n, at, flags))

CALLS(int, fsync, CP_IO_SYNC, fd, (int fd), (fd))
CALLS(int, fdatasync, CP_IO_SYNC, fd, (int fd), (fd))
CALLS(int, sync_file_range, CP_IO_SYNC, fd, (int fd, off64_t at, off64_t n, unsigned flags),
      (fd, at, n, flags))

/* The kind is that of the descriptor that may wait: the socket, the pipe, the target. */
CALLS_IF(ssize_t, copy_file_range, CP_IO_COPY | CALLS_MOVES, to,
	 (int fd, off64_t *at, int to, off64_t *to_at, size_t n, unsigned flags),
	 (fd, at, to, to_at, n, flags))
CALLS(ssize_t, sendfile, CP_IO_SENDFILE | CALLS_MOVES, to, (int to, int fd, off_t *at, size_t n),
      (to, fd, at, n))
CALLS(ssize_t, sendfile64, CP_IO_SENDFILE | CALLS_MOVES, to,
      (int to, int fd, off64_t *at, size_t n), (to, fd, at, n))
CALLS(ssize_t, splice, CP_IO_SPLICE | CALLS_MOVES, fd,
      (int fd, off64_t *at, int to, off64_t *to_at, size_t n, unsigned flags),
      (fd, at, to, to_at, n, flags))
CALLS(ssize_t, tee, CP_IO_SPLICE | CALLS_MOVES, fd, (int fd, int to, size_t n, unsigned flags),
      (fd, to, n, flags))
CALLS(ssize_t, vmsplice, CP_IO_SPLICE | CALLS_MOVES, fd,
      (int fd, const struct iovec *v, size_t n, unsigned flags), (fd, v, n, flags))
CALLS_IF(ssize_t, getdents64, CP_IO_READDIR | CALLS_MOVES, fd, (int fd, void *to, size_t n),
	 (fd, to, n))

/* ---- what closes a descriptor ---- */

SLOW static int measured_close(int fd)
{
	int (*real)(int) = CP_IO_REAL(close);
	enum cp_fd_kind kind;

	if (!calls_measured())
		return real(fd);
	kind = cp_io_kind_of(fd);
	/* Readers of a pipe that nobody has open for writing any more find its end. */
	if (cp_io_wake_is_on() && kind == CP_FD_PIPE && cp_io_wake_is_awaited(fd))
		cp_io_wake(fd, CP_WAKES_ALL, (const void *)real);
	cp_io_kind_closed(fd);
	return CALLS_MEASURE(close, CP_IO_CLOSE | CALLS_KIND(kind), -1, (fd));
}

INTERPOSE int close(int fd)
{
	return OFF() ? cp_io_real.close(fd) : measured_close(fd);
}

/* fileno of a stream without a descriptor (fmemopen) sets errno. */
static void stream_closed(FILE *f)
{
	int before = errno;

	cp_io_kind_closed(fileno(f));
	errno = before;
}

/* Define NAME, which isn't measured: with the mode on, BEFORE comes first. */
#define CLOSES(type, name, before, parameters, arguments)                                          \
	INTERPOSE type name parameters;                                                            \
	INTERPOSE type name parameters                                                             \
	{                                                                                          \
		if (OFF())                                                                         \
			return cp_io_real.name arguments;                                          \
		if (calls_measured())                                                              \
			before;                                                                    \
		return CP_IO_REAL(name) arguments;                                                 \
	}

CLOSES(int, pclose, stream_closed(f), (FILE * f), (f))
CLOSES(FILE *, freopen, stream_closed(f), (const char *path, const char *mode, FILE *f),
       (path, mode, f))
CLOSES(FILE *, freopen64, stream_closed(f), (const char *path, const char *mode, FILE *f),
       (path, mode, f))
CLOSES(int, dup2, cp_io_kind_closed(to), (int fd, int to), (fd, to))
CLOSES(int, dup3, cp_io_kind_closed(to), (int fd, int to, int flags), (fd, to, flags))
CLOSES(void, closefrom, cp_io_kind_closed_all(first < 0 ? 0 : (unsigned)first, ~0u), (int first),
       (first))

/* Calls that name a path: open, rename, unlink; the end of the stat family's, which are interposed
 * in lib/hooks/procfs.c. */

/* A new descriptor has no kind yet, in case its number was closed unseen. */
static inline int is_new(int fd)
{
	if (fd >= 0)
		cp_io_kind_closed(fd);
	return fd;
}

/* Does open with these flags take a mode? */
static inline bool takes_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

#define MODE(flags)                                                                                \
	mode_t mode = 0;                                                                           \
	va_list ap;                                                                                \
                                                                                                   \
	va_start(ap, flags);                                                                       \
	if (takes_mode(flags))                                                                     \
		mode = va_arg(ap, mode_t);                                                         \
	va_end(ap)

#define OPENS(name, parameters, arguments)                                                         \
	SLOW static int measured_##name parameters                                                 \
	{                                                                                          \
		return is_new(                                                                     \
			CALLS_MEASURE(name, CP_IO_OPEN | CALLS_PATH, (intptr_t)path, arguments));  \
	}

/* Defines a function that has a fixed number of arguments. */
#define OPENS_PLAIN(name, parameters, arguments)                                                   \
	OPENS(name, parameters, arguments)                                                         \
	INTERPOSE int name parameters;                                                             \
	INTERPOSE int name parameters                                                              \
	{                                                                                          \
		return OFF() ? cp_io_real.name arguments : measured_##name arguments;              \
	}

OPENS(open, (const char *path, int flags, mode_t mode), (path, flags, mode))
OPENS(open64, (const char *path, int flags, mode_t mode), (path, flags, mode))
OPENS(openat, (int dir, const char *path, int flags, mode_t mode), (dir, path, flags, mode))
OPENS(openat64, (int dir, const char *path, int flags, mode_t mode), (dir, path, flags, mode))
OPENS_PLAIN(creat, (const char *path, mode_t mode), (path, mode))
OPENS_PLAIN(creat64, (const char *path, mode_t mode), (path, mode))
/* Fortified calls without a mode. */
OPENS_PLAIN(__open_2, (const char *path, int flags), (path, flags))
OPENS_PLAIN(__open64_2, (const char *path, int flags), (path, flags))
OPENS_PLAIN(__openat_2, (int dir, const char *path, int flags), (dir, path, flags))
OPENS_PLAIN(__openat64_2, (int dir, const char *path, int flags), (dir, path, flags))

INTERPOSE int open(const char *path, int flags, ...)
{
	MODE(flags);
	return OFF() ? cp_io_real.open(path, flags, mode) : measured_open(path, flags, mode);
}

INTERPOSE int open64(const char *path, int flags, ...)
{
	MODE(flags);
	return OFF() ? cp_io_real.open64(path, flags, mode) : measured_open64(path, flags, mode);
}

INTERPOSE int openat(int dir, const char *path, int flags, ...)
{
	MODE(flags);
	return OFF() ? cp_io_real.openat(dir, path, flags, mode)
		     : measured_openat(dir, path, flags, mode);
}

INTERPOSE int openat64(int dir, const char *path, int flags, ...)
{
	MODE(flags);
	return OFF() ? cp_io_real.openat64(dir, path, flags, mode)
		     : measured_openat64(dir, path, flags, mode);
}

CALLS(int, rename, CP_IO_RENAME | CALLS_PATH, (intptr_t)from, (const char *from, const char *to),
      (from, to))
CALLS(int, renameat, CP_IO_RENAME | CALLS_PATH, (intptr_t)from,
      (int from_dir, const char *from, int to_dir, const char *to), (from_dir, from, to_dir, to))
CALLS_IF(int, renameat2, CP_IO_RENAME | CALLS_PATH, (intptr_t)from,
	 (int from_dir, const char *from, int to_dir, const char *to, unsigned flags),
	 (from_dir, from, to_dir, to, flags))
CALLS(int, unlink, CP_IO_UNLINK | CALLS_PATH, (intptr_t)path, (const char *path), (path))
CALLS(int, unlinkat, CP_IO_UNLINK | CALLS_PATH, (intptr_t)path,
      (int dir, const char *path, int flags), (dir, path, flags))

void calls_stat_ended(uint64_t began, int fd, const char *path, int result, const void *function)
{
	/* A path that the kernel could not read isn't read here, either. */
	bool by_fd = !path || (!result && !*path);

	cp_io_event_ended(&(struct cp_io_call){ .began = began,
						.op = CP_IO_STAT,
						.kind = by_fd ? cp_io_kind_of(fd) : CP_FD_PATH,
						.on = by_fd ? ON_FD(fd) : ON_PATH(path),
						.error = result == -1 ? errno : 0,
						.function = function });
}
