/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/io/hooks/, by the file that implements them. */
#ifndef CP_MODES_IO_HOOKS_IO_HOOKS_H
#define CP_MODES_IO_HOOKS_IO_HOOKS_H

#include <errno.h>

#include "host/host.h"
#include "modes/io/io.h"
#include "modes/io/signal/io_signal.h"

/* by_number.c
 *
 * Input and output by libc's syscall(); called by lib/hooks/syscall.c.
 */

/* Make system call NUMBER with the arguments A, and measure it, if the mode is on and measures such
 * calls. Returns false if it doesn't; then the call has not been made. */
bool calls_by_number(long number, const long *a, long *result);

/* calls.c
 *
 * Shared by the files of interposed input and output.
 *
 * With the mode off, an interposed function compares a word with 0 and jumps to libc's. With the
 * mode on, libc's function is called once, with the program's arguments, and its result and errno
 * are the program's. Nothing is done before the call but a look at the clock, so the functions stay
 * cancellation points, and are safe in handlers, as libc's are.
 */

/* Not inlined, so that the path with the mode off stays short. */
#define SLOW __attribute__((noinline))
#define OFF() __builtin_expect(!cp_load_relaxed(&cp_io_active), 1)

static inline bool calls_measured(void)
{
	return (cp_load_relaxed(&cp_io_active) & CP_IO_ON) != 0;
}

/* Return the present time if the call must be measured, else 0. */
uint64_t calls_began_otherwise(void);

/* The same, without a call where the mode is on and its clock is the processor's counter. */
static inline __attribute__((always_inline)) uint64_t calls_began(void)
{
	return __builtin_expect(cp_io_event_is_usual(), 1) ? cp_arch_ticks()
							   : calls_began_otherwise();
}

/* For the stat family, which is interposed for another reason, too (lib/hooks/procfs.c): begin
 * and end. It asks about FD if PATH is NULL or empty. */
static inline uint64_t calls_begin(void)
{
	return __builtin_expect(calls_measured(), 0) ? calls_began_otherwise() : 0;
}
void calls_stat_ended(uint64_t began, int fd, const char *path, int result, const void *function);

/* The object of a call, by the parameters of the function. */
#define ON_FD(n) ((struct cp_io_on){ NULL, (n) })
#define ON_PATH(p) ((struct cp_io_on){ (p), -1 })
#define ON_NOTHING ((struct cp_io_on){ NULL, -1 })

/* Parts of WHAT besides the op. First, the number of libc's function. */
#define CALLS_OF(name) ((unsigned)(offsetof(struct cp_io_real, name) / sizeof(void *)) << 24)
/* The result is a number of bytes. */
#define CALLS_MOVES 0x100u
/* Used if ON is not a descriptor. */
#define CALLS_KIND(kind) (((unsigned)(kind) + 1) << 16)
#define CALLS_KIND_OF(what) ((what) >> 16 & 255)
/* ON is the address of a path. */
#define CALLS_PATH CALLS_KIND(CP_FD_PATH)
_Static_assert(sizeof(struct cp_io_real) / sizeof(void *) <= 256, "numbers");

/* A call that began at BEGAN, as calls_began said, has ended; errno stays. Returns RESULT; -1 is an
 * error. Arguments are few, because a call that is measured has to save them. */
int64_t calls_ended(uint64_t began, int64_t result, unsigned what, int64_t on);

/* Call libc's NAME with the arguments in parentheses, and report it; WHAT and ON as above. This is
 * in each function, so it is small: what can be done elsewhere is done in calls_ended. */
#define CALLS_MEASURE(name, what, on, arguments)                                                   \
	({                                                                                         \
		__typeof__(cp_io_real.name) real_ = CP_IO_REAL(name);                              \
		uint64_t began_ = calls_began();                                                   \
		__typeof__(real_ arguments) result_ = real_ arguments;                             \
		(__typeof__(result_))calls_ended(began_, (int64_t)result_,                         \
						 (what) | CALLS_OF(name), (int64_t)(on));          \
	})

/* Define the interposed function NAME, which is in libc's every version that is supported. It may
 * be called before the constructor. */
#define CALLS(type, name, what, on, parameters, arguments)                                         \
	SLOW static type measured_##name parameters                                                \
	{                                                                                          \
		return CALLS_MEASURE(name, what, on, arguments);                                   \
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
#define CALLS_IF(type, name, what, on, parameters, arguments)                                      \
	INTERPOSE type name parameters;                                                            \
	INTERPOSE type name parameters                                                             \
	{                                                                                          \
		if (!CP_IO_REAL(name)) {                                                           \
			errno = ENOSYS;                                                            \
			return -1;                                                                 \
		}                                                                                  \
		return CALLS_MEASURE(name, what, on, arguments);                                   \
	}

/* Define the interposed function NAME by the function measured_NAME. */
#define CALLS_MEASURED(name, parameters, arguments)                                                \
	INTERPOSE ssize_t name parameters;                                                         \
	INTERPOSE ssize_t name parameters                                                          \
	{                                                                                          \
		if (OFF())                                                                         \
			return cp_io_real.name arguments;                                          \
		return measured_##name arguments;                                                  \
	}

/* A read, which may wait for a thread that writes (io_wake.c). */
#define WAITING_READS(name, parameters, arguments)                                                 \
	SLOW static ssize_t followed_##name parameters                                             \
	{                                                                                          \
		struct cp_wakes_wait wait;                                                         \
		bool waits = cp_io_wake_wait(&wait, fd);                                           \
		ssize_t moved = CALLS_MEASURE(name, CP_IO_READ | CALLS_MOVES, fd, arguments);      \
                                                                                                   \
		if (waits)                                                                         \
			cp_io_wake_waited(&wait, fd, moved < 0 ? errno : 0,                        \
					  (const void *)cp_io_real.name);                          \
		return moved;                                                                      \
	}                                                                                          \
                                                                                                   \
	SLOW static ssize_t measured_##name parameters                                             \
	{                                                                                          \
		if (cp_io_wake_is_on())                                                            \
			return followed_##name arguments;                                          \
		return CALLS_MEASURE(name, CP_IO_READ | CALLS_MOVES, fd, arguments);               \
	}                                                                                          \
                                                                                                   \
	CALLS_MEASURED(name, parameters, arguments)

/* A write, which may end such a wait. */
#define WAKING_WRITES(name, parameters, arguments)                                                 \
	SLOW static ssize_t measured_##name parameters                                             \
	{                                                                                          \
		if (cp_io_wake_is_on() && cp_io_wake_is_awaited(fd))                               \
			cp_io_wake(fd, 1, (const void *)CP_IO_REAL(name));                         \
		return CALLS_MEASURE(name, CP_IO_WRITE | CALLS_MOVES, fd, arguments);              \
	}                                                                                          \
                                                                                                   \
	CALLS_MEASURED(name, parameters, arguments)

#define READS(name, parameters, arguments)                                                         \
	CALLS(ssize_t, name, CP_IO_READ | CALLS_MOVES, fd, parameters, arguments)
#define WRITES(name, parameters, arguments)                                                        \
	CALLS(ssize_t, name, CP_IO_WRITE | CALLS_MOVES, fd, parameters, arguments)

#endif
