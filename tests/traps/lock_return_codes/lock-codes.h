/* SPDX-License-Identifier: BSD-3-Clause */
/* For the two halves of lock-codes: results, and points in time. */
#ifndef LOCK_CODES_H
#define LOCK_CODES_H

#include <errno.h>
#include <stdio.h>

#include "clock.h"

#define ERRNO_MARK 4711
#define HELD_NS 3000000
/* Nothing takes so long that ends at all, however busy the machine is. */
#define LONG_NS 50000000000

static inline struct timespec at(clockid_t clock, long ns)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ns;
	while (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

/* One result, and whether errno is as it was. */
#define SAY(what, call)                                                                            \
	do {                                                                                       \
		int result_;                                                                       \
		errno = ERRNO_MARK;                                                                \
		result_ = (call);                                                                  \
		printf(" %s=%d%s", what, result_, errno == ERRNO_MARK ? "" : "!");                 \
	} while (0)
/* With errno. */
#define SAY_ERRNO(what, call)                                                                      \
	do {                                                                                       \
		int result_;                                                                       \
		errno = 0;                                                                         \
		result_ = (call);                                                                  \
		printf(" %s=%d/%d", what, result_, errno);                                         \
	} while (0)

/* rwlocks, semaphores, conditions, C11's, spin locks, barriers, futexes: lock-codes-others.c */
void lock_codes_others(void);

#endif
