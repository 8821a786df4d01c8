/* SPDX-License-Identifier: BSD-3-Clause */
/* Wakes through pipes and eventfds; see io_signal.h. */
#include "modes/io/signal/io_signal.h"

#include <errno.h>

#include "base/sys.h"

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

uint64_t cp_io_wake_numbers[CP_IO_KNOWN];

/* Keys are odd numbers below 2^32; those of the lock mode are addresses. */
static uint32_t fold(uint64_t number)
{
	return (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) | 1;
}

/* All eventfds have one inode, so the descriptor is the number. */
static uint32_t number_of(int fd, enum cp_fd_kind kind)
{
	struct stat s;

	if (kind == CP_FD_EVENTFD)
		return fold((uint64_t)(unsigned)fd << 8 | CP_FD_EVENTFD);
	if (kind != CP_FD_PIPE || cp_sys4(SYS_newfstatat, fd, "", &s, AT_EMPTY_PATH))
		return 0;
	return fold((uint64_t)s.st_ino ^ (uint64_t)s.st_dev << 40);
}

uint64_t cp_io_wake_ask(int fd)
{
	enum cp_fd_kind kind = cp_io_kind_of(fd);
	uint32_t known = (unsigned)fd < CP_IO_KNOWN ? cp_load_relaxed(&cp_io_known[fd]) : 0;
	uint32_t number = number_of(fd, kind);

	/* If the descriptor is closed meanwhile, KNOWN differs from then on. */
	if (known & 255u)
		cp_store_relaxed(&cp_io_wake_numbers[fd], (uint64_t)known << 32 | number);
	return number;
}

/* Return the calling thread's record; NULL if it has none, or if the profiler itself makes the
 * call: libunwind while it walks a stack, or libc for a thread or a library. */
static struct cp_thread *program_thread(void)
{
	const struct cp_self *self = cp_thread_self();

	return self->in_capture || self->heap.guard ? NULL : self->thread;
}

bool cp_io_wake_wait(struct cp_wakes_wait *w, int fd)
{
	uint64_t key = cp_io_wake_key(fd);

	if (!key)
		return false;
	cp_wakes_begin(w, program_thread(), CP_WAKES_OF_IO, key, cp_lock_event_begin());
	return true;
}

void cp_io_wake_waited(const struct cp_wakes_wait *w, int fd, int error, const void *function)
{
	enum cp_wakes_how how = error == EINTR ? CP_WAKES_INTERRUPTED : CP_WAKES_WOKEN;

	if (error && error != EINTR)
		cp_wakes_cancel(w);
	else
		cp_wakes_end(w, CP_WAKES_OF_IO, how, cp_io_kind_of(fd), function);
}

void cp_io_wake(int fd, uint32_t most, const void *function)
{
	const struct cp_wakes_wake w = {
		.key = cp_io_wake_key(fd), .most = most, .of = CP_WAKES_OF_IO, .function = function
	};

	cp_wakes_wake(program_thread(), &w);
}
