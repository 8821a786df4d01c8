/* SPDX-License-Identifier: BSD-3-Clause */
/* What a thread waits for, beyond its system call: the lock and its holder, the descriptor, the
 * child, the thread. For threads_now.c and deadlocks.c, under the collector's lock. The thread is
 * not signalled or stopped; memory is copied by the kernel, so no read can fault.
 */
#ifndef CP_THREAD_WAITS_H
#define CP_THREAD_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "modes/wall/wall_cause.h"
#include "modes/wall/wall_stack.h"

struct cp_thread_wait {
	const char *cause; /* as the label "wait" of wall profiles; NULL = unknown */
	/* A futex: what it is the word of ("mutex"), and its address; 0 = none. Of a condition the
	 * word's own address is known. */
	const char *lock_kind;
	uint64_t lock;
	int holder; /* tid of the thread that has the lock, while this one waits; 0 = unknown */
	unsigned readers;	   /* threads that have it to read */
	int joined;		   /* tid of the thread whose end is waited for; 0 = none */
	int fd;			   /* -1 = none */
	const char *kind, *target; /* of FD; NULL = unknown, or not allowed */
	unsigned descriptors;	   /* that poll or select waits for; 0 = another call */
	int child;		   /* its pid; 0 = none, or any */
	const char *child_name;
	bool limited;	   /* the wait for the lock has a time limit */
	unsigned deadlock; /* number of the deadlock that the thread is a part of; 0 = none */
};

/* A thread as it was seen. */
struct cp_thread_look {
	int tid;
	enum cp_wall_doing doing;
	uint64_t clock; /* its CPU time, for a waiting thread */
	struct cp_wall_call call;
	enum cp_wall_futex futex; /* if it waits for one */
	struct cp_thread_wait wait;
};

/* Find out what T waits for. ALLOWED: enum cp_io_target. Texts are in TEXTS. */
void cp_thread_waits_find(struct cp_thread_look *t, int allowed, struct cp_arena *texts);
/* Return the tid of the thread that T waits for: that of the lock's holder, as the lock says now,
 * or of the thread that T joins; 0: none, or unknown. */
int cp_thread_waits_for(const struct cp_thread_look *t);
/* Return true if T has waited all the time since it was seen. */
bool cp_thread_waits_still(const struct cp_thread_look *t);

#endif
