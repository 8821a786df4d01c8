/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of interposed input and output.
 *
 * With the mode off, an interposed function compares a word with 0 and jumps to libc's. With the
 * mode on, libc's function is called once, with the program's arguments, and its result and errno
 * are the program's. Nothing is done before the call but a look at the clock, so the functions stay
 * cancellation points, and are safe in handlers, as libc's are.
 */
#ifndef CP_IO_CALLS_H
#define CP_IO_CALLS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "host/hooks/interpose.h"
#include "modes/io/io_real.h"
#include "modes/io/signal/io_event.h"

/* Kept off the path of a mode that is off. */
#define SLOW __attribute__((noinline))
#define OFF() __builtin_expect(!cp_load_relaxed(&cp_io_active), 1)

static inline bool calls_measured(void)
{
	return (cp_load_relaxed(&cp_io_active) & CP_IO_ON) != 0;
}

/* For the stat family, which is interposed for another reason, too (lib/host/hooks/procfs.c): the
 * time if the call is to be measured, else 0; and its end. It asks about FD if PATH is NULL or
 * empty. */
static inline uint64_t calls_begin(void)
{
	return __builtin_expect(calls_measured(), 0) ? cp_io_event_now() : 0;
}
void calls_stat_ended(uint64_t began, int fd, const char *path, int result, const void *function);

/* Bytes that a call with this result moved. */
static inline uint64_t calls_moved(int64_t result)
{
	return result > 0 ? (uint64_t)result : 0;
}

/* For functions that return 0, a descriptor or a number of things. */
static inline uint64_t calls_none(int64_t result)
{
	(void)result;
	return 0;
}

/* What a call is made on, in terms of the parameters of the function. */
#define ON_FD(n) ((struct cp_io_on){ NULL, (n) })
#define ON_PATH(p) ((struct cp_io_on){ (p), -1 })
#define ON_NOTHING ((struct cp_io_on){ NULL, -1 })

/* Call REAL with the arguments in parentheses, and report it. KIND is an expression that is
 * evaluated after the call. ON: one of the above. BYTES: calls_moved or calls_none. */
#define CALLS_MEASURE(op_, kind_, on_, bytes_, real, arguments)                                    \
	({                                                                                         \
		uint64_t began_ = cp_io_event_now();                                               \
		__typeof__((real)arguments) result_ = (real)arguments;                             \
		cp_io_event_ended(                                                                 \
			&(struct cp_io_call){ .began = began_,                                     \
					      .op = (op_),                                         \
					      .kind = (kind_),                                     \
					      .on = on_,                                           \
					      .bytes = bytes_((int64_t)result_),                   \
					      .error = (int64_t)result_ == -1 ? errno : 0,         \
					      .function = (const void *)(real) });                 \
		result_;                                                                           \
	})

/* Define the interposed function NAME, which is in libc's every version that is supported. It may
 * be called before the constructor. */
#define CALLS(type, name, op, kind, on, bytes, parameters, arguments)                              \
	SLOW static type measured_##name parameters                                                \
	{                                                                                          \
		__typeof__(cp_io_real.name) real = CP_IO_REAL(name);                               \
                                                                                                   \
		if (!calls_measured())                                                             \
			return real arguments;                                                     \
		return CALLS_MEASURE(op, kind, on, bytes, real, arguments);                        \
	}                                                                                          \
                                                                                                   \
	INTERPOSE type name parameters;                                                            \
	INTERPOSE type name parameters                                                             \
	{                                                                                          \
		if (OFF())                                                                         \
			return cp_io_real.name arguments;                                          \
		return measured_##name arguments;                                                  \
	}

/* The same for a function that some versions of libc lack. */
#define CALLS_IF(type, name, op, kind, on, bytes, parameters, arguments)                           \
	INTERPOSE type name parameters;                                                            \
	INTERPOSE type name parameters                                                             \
	{                                                                                          \
		__typeof__(cp_io_real.name) real = CP_IO_REAL(name);                               \
                                                                                                   \
		if (!real) {                                                                       \
			errno = ENOSYS;                                                            \
			return -1;                                                                 \
		}                                                                                  \
		if (!calls_measured())                                                             \
			return real arguments;                                                     \
		return CALLS_MEASURE(op, kind, on, bytes, real, arguments);                        \
	}

#define READS(name, parameters, arguments)                                                         \
	CALLS(ssize_t, name, CP_IO_READ, cp_io_kind_of(fd), ON_FD(fd), calls_moved, parameters,    \
	      arguments)
#define WRITES(name, parameters, arguments)                                                        \
	CALLS(ssize_t, name, CP_IO_WRITE, cp_io_kind_of(fd), ON_FD(fd), calls_moved, parameters,   \
	      arguments)

#endif
