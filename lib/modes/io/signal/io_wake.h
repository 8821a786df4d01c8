/* SPDX-License-Identifier: BSD-3-Clause */
/* Which pipe or eventfd a descriptor is, for wakers (sample/wakes.h): a thread that reads from it
 * waits for the thread that writes to it. Any context; errno stays. */
#ifndef CP_IO_WAKE_H
#define CP_IO_WAKE_H

#include "modes/io/signal/io_signal.h"
#include "sample/wakes.h"

/* A read that takes less time than this didn't sleep. */
#define CP_IO_WAKE_NS_MIN 5000u

/* For a descriptor: cp_io_known's word for it when the number was asked, and the number; 0 = not
 * asked. */
extern uint64_t cp_io_wake_numbers[CP_IO_KNOWN];

static inline __attribute__((always_inline)) bool cp_io_wake_is_on(void)
{
	return __builtin_expect((cp_load_relaxed(&cp_wakes_on) & CP_WAKES_OF_IO) != 0, 0);
}

/* Ask the kernel which pipe or eventfd FD is. Returns its key, or 0 if it is neither. */
uint64_t cp_io_wake_ask(int fd);

/* Return the key of FD, a pipe or an eventfd; 0: it is something else. The two ends of a pipe have
 * one key. */
static inline uint64_t cp_io_wake_key(int fd)
{
	uint64_t number;
	uint32_t known;

	if ((unsigned)fd >= CP_IO_KNOWN)
		return cp_io_wake_ask(fd);
	known = cp_load_relaxed(&cp_io_known[fd]);
	number = cp_load_relaxed(&cp_io_wake_numbers[fd]);
	if (!(known & 255u) || (uint32_t)(number >> 32) != known)
		return cp_io_wake_ask(fd);
	return (uint32_t)number;
}

/* Return true if somebody may wait for a write to FD. Inlined: most writes cost only this. */
static inline bool cp_io_wake_is_awaited(int fd)
{
	uint64_t key = cp_io_wake_key(fd);

	return key && __builtin_expect(cp_wakes_awaited(key), 0);
}

/* The calling thread is about to read FD. Returns false if the read can't be a wait for a thread,
 * or isn't followed. */
bool cp_io_wake_wait(struct cp_wakes_wait *w, int fd);
/* The read has ended; ERROR: its errno, or 0. */
void cp_io_wake_waited(const struct cp_wakes_wait *w, int fd, int error, const void *function);
/* The calling thread is about to wake up to MOST readers of FD, which is awaited. */
void cp_io_wake(int fd, uint32_t most, const void *function);

#endif
