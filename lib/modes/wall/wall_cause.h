/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a thread waits, by the system call that it waits in and the kind of that call's descriptor.
 *
 * Called by the wall clock's pacer and by the dump, under the collector's lock.
 */
#ifndef CP_WALL_CAUSE_H
#define CP_WALL_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/aggregate.h"
#include "profile/names.h"

/* The call in which a thread waits, as its /proc file shows it. */
struct cp_wall_call {
	int64_t number; /* -1: none (the thread waits for a page, or is stopped) */
	uint64_t args[4];
};

enum cp_wall_cause {
	CP_WALL_CAUSE_UNKNOWN,
	CP_WALL_CAUSE_LOCK, /* any wait for a futex; its name is refined by the stack */
	CP_WALL_CAUSE_SEMAPHORE,
	CP_WALL_CAUSE_SLEEP,
	CP_WALL_CAUSE_DISK,
	CP_WALL_CAUSE_NETWORK,
	CP_WALL_CAUSE_PIPE,
	CP_WALL_CAUSE_POLL,
	CP_WALL_CAUSE_CHILD,
	CP_WALL_CAUSE_TIMER,
	CP_WALL_CAUSE_TERMINAL,
	CP_WALL_CAUSE_SIGNAL,
	CP_WALL_CAUSE_OTHER,
};

enum cp_wall_kind {
	CP_WALL_KIND_NONE, /* no descriptor, or one of no known kind */
	CP_WALL_KIND_FILE,
	CP_WALL_KIND_PIPE,
	CP_WALL_KIND_TCP,
	CP_WALL_KIND_UDP,
	CP_WALL_KIND_UNIX,
	CP_WALL_KIND_SOCKET, /* of another family */
	CP_WALL_KIND_TTY,
	CP_WALL_KIND_DEVICE,
	CP_WALL_KIND_EVENTFD,
	CP_WALL_KIND_TIMERFD,
	CP_WALL_KIND_SIGNALFD,
	CP_WALL_KIND_EPOLL,
	CP_WALL_KIND_INOTIFY,
};

/* What a thread waits for in a futex, by the function of libc that waits. */
enum cp_wall_futex {
	CP_WALL_FUTEX_OTHER, /* of the program's own locks, or an unknown function */
	CP_WALL_FUTEX_MUTEX,
	CP_WALL_FUTEX_RWLOCK,
	CP_WALL_FUTEX_LIBC, /* a lock inside libc: malloc's, a stream's */
	CP_WALL_FUTEX_CONDITION,
	CP_WALL_FUTEX_SEMAPHORE,
	CP_WALL_FUTEX_BARRIER,
	CP_WALL_FUTEX_THREAD, /* the end of a thread, in a join */
};

/* A wait as the wall mode keeps it in a row's tag (wall_slow.h): 25 bits; 0 = unknown. */
#define CP_WALL_WAIT(cause, kind, fd)                                                              \
	((uint32_t)(cause) | (uint32_t)(kind) << 4 | (uint32_t)((fd) + 1) << 9)
#define CP_WALL_WAIT_BITS 25
#define CP_WALL_WAIT_CAUSE(wait) ((enum cp_wall_cause)((wait)&15))
#define CP_WALL_WAIT_KIND(wait) ((enum cp_wall_kind)((wait) >> 4 & 31))
#define CP_WALL_WAIT_FD(wait) ((int)((wait) >> 9) - 1) /* -1: not kept */

/* Return why thread TID, whose stack is PCS, waits in CALL at tick NOW of SECOND ticks a second.
 * The kind of a descriptor costs one or two system calls; for the same stack and number it is
 * looked up once a second at most. */
uint32_t cp_wall_cause_of(const struct cp_wall_call *call, int tid, const uint64_t *pcs,
			  uint32_t depth, uint64_t now, uint32_t second);
/* Return the kind of descriptor FD of thread TID. */
enum cp_wall_kind cp_wall_cause_kind(int tid, uint64_t fd);
/* The same without the stack, uncached, and with the number of any descriptor that CALL is about,
 * in *FD (-1: none). */
uint32_t cp_wall_cause_now(const struct cp_wall_call *call, int tid, int *fd);
/* Return the label's text; NULL: unknown. S, A and N tell the functions in which a futex is waited
 * for; without S the text of any futex is "lock". */
const char *cp_wall_cause_text(uint32_t wait, const struct cp_stack *s,
			       const struct cp_aggregate *a, const struct cp_names *n);
const char *cp_wall_cause_kind_text(uint32_t wait);
/* Return what a thread with stack S, whose functions have names, waits for in a futex. */
enum cp_wall_futex cp_wall_cause_futex(const struct cp_stack *s, const struct cp_aggregate *a,
				       const struct cp_names *n);
const char *cp_wall_cause_futex_text(enum cp_wall_futex futex);
/* Return true if PATH is libc's, whose functions cp_wall_cause_futex knows. */
bool cp_wall_cause_is_libc(const char *path);
/* Forget the kinds and the numbers of an earlier run. */
void cp_wall_cause_forget(void);

#endif
