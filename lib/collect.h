/* The collector: the lock over everything collected, draining the rings, and the one
 * task that we add (with a thread of libc's where the program has several, see worker.h).
 *
 * Whatever is done under the lock uses raw system calls and our own pages only, so it may also
 * be done by a thread that is exiting, crashing or in a handler, whatever locks of
 * libc it holds: that is what cp_collect_run is for. It runs on a stack of its
 * own, because the caller's may be a small alternate one.
 */
#ifndef CP_COLLECT_H
#define CP_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "run.h"
#include "sigsafe/thread.h"

/* What the collector can be asked for, as bits. */
#define CP_REQUEST_DRAIN UINT32_C(1)
#define CP_REQUEST_TOGGLE UINT32_C(4)	 /* CPUPROFILESIGNAL */
#define CP_REQUEST_CHECK_END UINT32_C(8) /* is the collector the last thread? */
#define CP_REQUEST_QUIT UINT32_C(16)	 /* the collector's thread ends */
#define CP_REQUEST_TICK UINT32_C(64)	 /* something is due by time */
/* Numbered dumps: of one of the main modes, with its companions; of all four. */
#define CP_REQUEST_DUMP_OF(mode) (UINT32_C(256) << (mode))
#define CP_REQUEST_DUMP UINT32_C(0xf00)

/* The work of the collector's owner: called under the lock. */
struct cp_collect_work {
	/* Serve REQUESTS (DRAIN, DUMP, DUMP_HEAP, TOGGLE, TICK). */
	void (*serve)(uint32_t requests);
	/* When something is due by time alone (a checkpoint, a tick), monotonic ns; UINT64_MAX =
	 * never. */
	uint64_t (*due)(void);
	/* The program's last thread is gone, and nothing of libc's comes any more. In the
	 * collector, without the lock. */
	void (*last)(void);
};

/* Prepare the lock's stack. Ordinary context, once. 0 or -ENOMEM. */
int cp_collect_init(const struct cp_collect_work *work);
/* What changes credentials comes by us, so the collector needn't be known to libc in a program of
 * one thread. Once, at the start. */
void cp_collect_allow_bare(void);
/* Start the collector if none runs: a task that libc doesn't know where libc knows of one thread,
 * else a thread of libc's, too (worker.h). Ordinary context. 0 or a negative errno: then requests
 * are served by the thread that makes them. */
int cp_collect_start(void);
/* A fork ended ours: start it again, unless it was stopped on purpose. Ordinary context. */
void cp_collect_revive(void);
/* The program has made a thread: from now on libc is to know ours. Ordinary context. */
void cp_collect_attend(void);
/* The program has no thread but the calling one; by the records alone where /proc can't be read. */
bool cp_collect_only_caller(void);
/* It runs, and libc doesn't know it. Any context. */
bool cp_collect_is_bare(void);
/* End it and wait for that; what it was asked for before is done. Not a cancellation point.
 * Ordinary context. */
void cp_collect_stop(void);
/* The same for a while, if it runs, by any number of threads; each then calls unpark, and the last
 * one starts it again if it is still wanted (AGAIN). Ordinary context. */
void cp_collect_park(void);
void cp_collect_unpark(bool again);
bool cp_collect_alive(void);

/* Ask. From any context: wakes the thread, or, where none runs (a fork child), serves at
 * once, or has it served by the thread that holds the lock. */
void cp_collect_request(uint32_t requests);

/* Those of WHICH that were asked and that nobody has begun; the caller sees to them. Under the
 * lock, or by the collector itself. */
uint32_t cp_collect_take(uint32_t which);

/* Run FN(ARG) under the lock, all signals blocked, on the collector's own stack.
 * From any context but under the lock itself: false then, and nothing was run. */
bool cp_collect_run(void (*fn)(void *), void *arg);

/* In a fork child: no thread, no requests, a free lock. What was under the lock may be
 * half done; its owner abandons it. */
void cp_collect_fork_child(void);

#endif
