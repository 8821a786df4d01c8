/* SPDX-License-Identifier: BSD-3-Clause */
/* The fork handlers. The child has one thread, none of the profiler's timers, and copies of the
 * profiler's data in whatever state other threads left them. So the child starts empty.
 *
 * No handler here waits long for a lock that a thread of the program could hold (module_list.h).
 * Once the program has restricted its system calls, no handler here makes one.
 */
#include "session/fork_handlers.h"

#include <pthread.h>

#include "host/profiled.h"
#include "session/api_change.h"
#include "collect/collect.h"
#include "output/mode_ops.h"
#include "host/fork_mark.h"
#include "unwind/module_list.h"
#include "base/notes.h"
#include "session/process.h"
#include "base/atomic.h"
#include "base/pages.h"
#include "sample/capture.h"
#include "unwind/signal/cfi_module.h"
#include "host/signal/disposition.h"
#include "sample/gate.h"
#include "host/signal/deferred.h"
#include "sample/thread.h"
#include "host/signals.h"
#include "labels/spans.h"
#include "collect/sweep.h"
#include "collect/threads.h"

/* Returns whether captures must be stopped for the fork. Only libunwind has locks of its own,
 * which must not be copied while held. Captures that use libunwind end first; until the fork is
 * over, captures use frame pointers. */
static bool needs_gate(void)
{
	return cp_profiled_active() && cp_capture_settings.unwinder == &cp_unwinder_libunwind;
}

/* A session has begun in this process, or in an ancestor that forked it. */
static uint32_t in_use;

static void before(void)
{
	if (!cp_load_acquire(&in_use))
		return;
	cp_fork_mark_expect(true);
	cp_mode_ops_fork_begin();
	cp_self.gate_closed = needs_gate();
	if (cp_self.gate_closed)
		cp_gate_close();
	cp_module_list_fork_begin();
}

static void in_parent(void)
{
	if (!cp_load_acquire(&in_use))
		return;
	cp_fork_mark_expect(false);
	cp_module_list_fork_end();
	if (cp_self.gate_closed)
		cp_gate_open();
}

static void in_child(void)
{
	bool alone, halfway;

	if (!cp_load_acquire(&in_use))
		return;
	alone = cp_threads_alone();
	/* If a destructor forked, the child's dlclose opens the gate later. */
	cp_gate_fork_child(cp_self.in_dlclose);
	cp_module_list_fork_child();
	cp_cfi_modules_fork_child();
	cp_disposition_fork_child();
	cp_deferred_fork_child();
	cp_collect_thread_fork_child();
	cp_pages_reserve_fork_child();
	halfway = cp_api_change_fork_child();
	if (cp_profiled_retired())
		return;
	cp_signals_fork_child();
	cp_threads_fork_child();
	cp_sweep_fork_child();
	cp_spans_fork_child();
	cp_notes_fork_child();
	cp_process_fork_child(alone, halfway);
}

void cp_fork_handlers_install(void)
{
	pthread_atfork(before, in_parent, in_child);
}

void cp_fork_handlers_begin(void)
{
	cp_store_release(&in_use, 1);
}
