/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that name a path: open, rename, unlink; the end of the stat family's, which are interposed
 * in lib/hooks/procfs.c. */
#include <stdarg.h>

#include "modes/io/hooks/io_hooks.h"

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
