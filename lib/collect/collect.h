/* SPDX-License-Identifier: BSD-3-Clause */
/* The collector: the lock over all collected data, the draining of the rings, and the one task that
 * the profiler adds to the process. Where the program has several threads, a libc thread
 * is attached to the task (see worker.h).
 *
 * Work under the lock uses only raw system calls and the profiler's own pages. So a thread that is
 * exiting, crashing or in a handler may do it, whatever locks of libc it holds; cp_collect_run
 * exists for that. The work runs on a stack of its own, because the caller's may be a small
 * alternate stack.
 */
#ifndef CP_COLLECT_H
#define CP_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/control_socket.h"
#include "output/run.h"
#include "sample/thread.h"

/* Requests to the collector, as bits. */
#define CP_REQUEST_DRAIN UINT32_C(1)
#define CP_REQUEST_TOGGLE UINT32_C(4)	 /* CPUPROFILESIGNAL */
#define CP_REQUEST_CHECK_END UINT32_C(8) /* is the collector the last thread? */
#define CP_REQUEST_QUIT UINT32_C(16)	 /* the collector's thread ends */
#define CP_REQUEST_TICK UINT32_C(64)	 /* a timed action is due */
/* Numbered dumps: of one main mode with its companions, or of all modes. */
#define CP_REQUEST_DUMP_OF(mode) (UINT32_C(0x10000) << (mode))
#define CP_REQUEST_DUMP UINT32_C(0xffff0000)

/* Callbacks of the collector's owner. SERVE is called under the lock. */
struct cp_collect_work {
	/* Serve REQUESTS (DRAIN, DUMP_OF(mode), TOGGLE, TICK). */
	void (*serve)(uint32_t requests);
	/* Return when the next timed action (a checkpoint, a tick) is due, in monotonic ns;
	 * UINT64_MAX = never. */
	uint64_t (*due)(void);
	/* Return true if threads are to be looked for, because a mode is on. */
	bool (*busy)(void);
	/* Return true if there is to be a control socket. YOUNG: the process may be one of the many
	 * that soon end, for which a socket would cost much. */
	bool (*controlled)(bool young);
	/* Where the socket is to be besides its abstract name. Called when that is there. */
	void (*control_place)(struct cp_control_place *place);
	/* The socket could not be opened there. */
	void (*control_failed)(const struct cp_control_place *place, int err);
	/* Answer a request; see cp_control_answer. Runs in the collector, without the lock. */
	cp_control_answer *answer;
	cp_control_answered *answered;
	/* Called when the program's last thread is gone and libc will call nothing more. Runs in
	 * the collector, without the lock. */
	void (*last)(void);
};

/* Allocate the lock's stack. Returns 0 or -ENOMEM. Call once, in ordinary context. */
int cp_collect_init(const struct cp_collect_work *work);
/* Allow a collector task that libc does not know. Call once, at the start, when every change of
 * credentials passes through the profiler. */
void cp_collect_thread_allow_raw_task(void);
/* Start the collector if none runs. Where that is allowed, the collector is a task that libc does
 * not know; otherwise it has a libc thread, too (worker.h). Returns 0 or a negative errno; after an
 * error the requesting threads serve their requests themselves. Ordinary context.
 */
int cp_collect_thread_start(void);
/* Start the collector again after a fork ended it, unless it was stopped on purpose. Ordinary
 * context. */
void cp_collect_thread_revive(void);
/* Return true if the calling thread is the program's only one. Uses the thread records alone where
 * /proc can't be read. */
bool cp_collect_loop_only_caller(void);
/* Return true if TID is a task of the profiler. Any context. */
bool cp_collect_loop_is_ours(int tid);
/* Return true if the collector runs as a task that libc does not know. Any context. */
bool cp_collect_is_raw_task(void);
/* End the collector and wait for its end. It first serves all earlier requests. Not a cancellation
 * point. Ordinary context. */
void cp_collect_thread_stop(void);
/* End the collector, so that the program gets the place of its tasks. Returns false if there is
 * none. cp_collect_thread_revive starts it anew. */
bool cp_collect_thread_give_way(void);
/* Stop the collector temporarily, if it runs. Any number of threads may do so; each then calls
 * unpark. The last unpark starts the collector again if it is still wanted (AGAIN). Ordinary
 * context. */
void cp_collect_thread_park(void);
void cp_collect_thread_unpark(bool again);
bool cp_collect_alive(void);

/* Request work. Wakes the collector. Where no collector runs (a fork child), the calling thread
 * serves the request at once, or leaves it to the thread that holds the lock. Any context. */
void cp_collect_request(uint32_t requests);

/* Serve REQUESTS of the program or its user on the calling thread, before returning. The requests
 * are not merged with earlier ones that wait. Any context. */
void cp_collect_serve_now(uint32_t requests);

/* Take and return the requests of WHICH that were made and not yet begun; the caller must serve
 * them. Call under the lock or in the collector. */
uint32_t cp_collect_take(uint32_t which);

/* Run FN(ARG) under the lock, with all signals blocked, on the collector's own stack. Returns
 * false, without running FN, if the caller already holds the lock. Any context. */
bool cp_collect_run(void (*fn)(void *), void *arg);

/* Reset the collector in a fork child: no thread, no requests, a free lock. The data under the lock
 * may be half changed; its owner abandons it. */
void cp_collect_thread_fork_child(void);

#endif
