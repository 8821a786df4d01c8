/* SPDX-License-Identifier: BSD-3-Clause */
/* Directory streams and stdio's streams. libc makes their system calls within itself, where nothing
 * can be interposed. So these functions are measured as a whole: fopen and opendir are an open,
 * fclose and closedir a close (with what fclose still has to write), and readdir is a call of its
 * own, most of which the kernel never sees. Reads and writes by other functions of stdio are not
 * seen. */
#include "modes/io/hooks/io_hooks.h"

/* Call REAL, which returns NULL for an error and then sets errno. */
#define OPENS_STREAM(type, name, parameters, arguments)                                            \
	SLOW static type *measured_##name parameters                                               \
	{                                                                                          \
		__typeof__(cp_io_real.name) real = CP_IO_REAL(name);                               \
		uint64_t began = calls_began();                                                    \
		type *s = real arguments;                                                          \
                                                                                                   \
		calls_ended(began, s ? 0 : -1, CP_IO_OPEN | CALLS_PATH | CALLS_OF(name),           \
			    (intptr_t)path);                                                       \
		return s;                                                                          \
	}                                                                                          \
                                                                                                   \
	INTERPOSE type *name parameters                                                            \
	{                                                                                          \
		return OFF() ? cp_io_real.name arguments : measured_##name arguments;              \
	}

OPENS_STREAM(DIR, opendir, (const char *path), (path))
OPENS_STREAM(FILE, fopen, (const char *path, const char *mode), (path, mode))
OPENS_STREAM(FILE, fopen64, (const char *path, const char *mode), (path, mode))

#define CLOSES_STREAM(type, name, number)                                                          \
	SLOW static int measured_##name(type *s)                                                   \
	{                                                                                          \
		int (*real)(type *) = CP_IO_REAL(name);                                            \
		enum cp_fd_kind kind;                                                              \
		int fd;                                                                            \
                                                                                                   \
		if (!calls_measured())                                                             \
			return real(s);                                                            \
		fd = s ? number(s) : -1; /* libc's function knows what to do with NULL */          \
		kind = cp_io_kind_of(fd);                                                          \
		cp_io_kind_closed(fd);                                                             \
		return CALLS_MEASURE(name, CP_IO_CLOSE | CALLS_KIND(kind), -1, (s));               \
	}                                                                                          \
                                                                                                   \
	INTERPOSE int name(type *s)                                                                \
	{                                                                                          \
		return OFF() ? cp_io_real.name(s) : measured_##name(s);                            \
	}

/* fileno of a stream without a descriptor (fmemopen) sets errno. */
static int number_of(FILE *f)
{
	int before = errno, fd = fileno(f);

	errno = before;
	return fd;
}

CLOSES_STREAM(FILE, fclose, number_of)
CLOSES_STREAM(DIR, closedir, dirfd)

/* E was read from D. NULL means the end or an error, and only an error changes errno. */
static void readdir_ended(uint64_t began, DIR *d, const void *e, int errno_before,
			  const void *function)
{
	cp_io_event_ended(&(struct cp_io_call){ .began = began,
						.op = CP_IO_READDIR,
						.kind = CP_FD_DIRECTORY,
						.on = ON_FD(dirfd(d)),
						.error = !e && errno != errno_before ? errno : 0,
						.function = function });
}

#define READDIR(type, name)                                                                        \
	SLOW static type *measured_##name(DIR *d)                                                  \
	{                                                                                          \
		__typeof__(cp_io_real.name) real = CP_IO_REAL(name);                               \
		uint64_t began = calls_began();                                                    \
		int before = errno;                                                                \
		type *e = real(d);                                                                 \
                                                                                                   \
		if (began)                                                                         \
			readdir_ended(began, d, e, before, (const void *)real);                    \
		return e;                                                                          \
	}                                                                                          \
                                                                                                   \
	INTERPOSE type *name(DIR *d)                                                               \
	{                                                                                          \
		return OFF() ? cp_io_real.name(d) : measured_##name(d);                            \
	}
READDIR(struct dirent, readdir)
READDIR(struct dirent64, readdir64)
