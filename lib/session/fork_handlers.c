/* SPDX-License-Identifier: BSD-3-Clause */
/* The fork handlers. The child has one thread, none of the profiler's timers, and copies of the
 * profiler's data in whatever state other threads left them. So the child starts empty: the table
 * STEPS has everything that is done for it, in order.
 *
 * No handler here waits long for a lock that a thread of the program could hold (unwind.h).
 * Once the program has restricted its system calls, no handler here makes one.
 */
#include "session/session.h"

#include "labels/spans.h"
#include "sample/diary.h"
#include "session/window.h"
#include "unwind/unwind.h"

/* Returns whether captures must be stopped for the fork. Only libunwind has locks of its own,
 * which must not be copied while held. Captures that use libunwind end first; until the fork is
 * over, captures use frame pointers. */
static bool needs_gate(void)
{
	return cp_profiled_active() && cp_capture_settings.unwinder == &cp_unwinder_libunwind;
}

/* A session has begun in this process, or in an ancestor that forked it. */
static uint32_t in_use;

static void before_fork(void)
{
	if (!cp_load_acquire(&in_use))
		return;
	cp_fork_mark_expect(true);
	cp_mode_ops_fork_begin();
	if (cp_profiled_active() && cp_session.config.symbolize != CP_SYMBOLIZE_NONE)
		cp_namecache_begin();
	cp_self.gate_closed = needs_gate();
	if (cp_self.gate_closed)
		cp_gate_close();
	cp_module_list_fork_begin();
}

/* The library may have come into use after the fork began: then there is nothing to end. */
static void in_parent(void)
{
	if (!cp_self.forks)
		return;
	cp_fork_mark_expect(false);
	cp_module_list_fork_end();
	if (cp_self.gate_closed)
		cp_gate_open();
}

/* State of the fork that has made this child. */
static bool alone, halfway;

/* If a destructor forked, the child's dlclose opens the gate later. */
static void reset_gate(void)
{
	cp_gate_fork_child(cp_self.in_dlclose);
}

static void note_half_change(void)
{
	halfway = cp_api_change_fork_child();
}

static bool is_not_retired(void)
{
	return !cp_profiled_retired();
}

static void begin_process(void)
{
	cp_process_fork_child(alone);
}

static bool has_profile(void)
{
	return cp_process_fork_goes_on(halfway);
}

/* The steps of the child, in this order. A row with GOES_ON ends the walk if it returns false. */
static const struct {
	void (*step)(void);
	bool (*goes_on)(void);
} steps[] = {
	/* clang-format off */
	/* 1. Locks and marks that another thread may have held. That thread is not in the child, and
	 * all later steps may take them. No capture is in flight, and nobody walks the modules. */
	{ .step = reset_gate },
	{ .step = cp_module_list_fork_child },
	{ .step = cp_imports_fork_child },
	{ .step = cp_cfi_modules_fork_child },
	{ .step = cp_disposition_fork_child },
	{ .step = cp_deferred_fork_child },
	{ .step = cp_mode_ops_fork_locks },
	/* 2. The collector: its lock, and its task with its socket, which the child doesn't have. */
	{ .step = cp_collect_thread_fork_child },
	{ .step = cp_control_socket_fork_child },
	{ .step = cp_control_path_fork_child },
	{ .step = cp_task_sleep_fork_child },
	{ .step = cp_worker_fork_child },
	/* The reserve lies below that task's stack. */
	{ .step = cp_pages_reserve_fork_child },
	{ .step = note_half_change },
	/* 3. A child of a program that has restricted its system calls ends here: the steps below
	 * make some. */
	{ .goes_on = is_not_retired },
	/* 4. The parent's knowledge of its signals and threads. The records of threads come before
	 * the lists that lead to them. */
	{ .step = cp_signals_fork_child },
	{ .step = cp_threads_fork_child },
	{ .step = cp_sweep_fork_child },
	{ .step = cp_sweep_tids_fork_child },
	{ .step = cp_spans_fork_child },
	{ .step = cp_diary_fork_child },
	{ .step = cp_notes_fork_child },
	/* 5. The child as a process of its own: first its mark and its pid, which the rest asks for;
	 * then whether it has a profile at all (CPROF_FOLLOW). */
	{ .step = begin_process },
	{ .goes_on = has_profile },
	/* 6. Its profile: its own time, then the runs, which begin with it, then what is planned for
	 * them. The modes are last: they start timers, and a sample may come at once. */
	{ .step = cp_own_time_fork_child },
	{ .step = cp_runs_fork_child },
	{ .step = cp_window_plan_checkpoint },
	{ .step = cp_dump_on_begin },
	{ .step = cp_push_fork_child },
	{ .step = cp_serve_plan },
	{ .step = cp_control_fork_child },
	{ .step = cp_process_fork_modes },
	/* clang-format on */
};

static void in_child(void)
{
	if (!cp_load_acquire(&in_use))
		return;
	alone = cp_threads_alone();
	halfway = false;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		if (steps[i].step)
			steps[i].step();
		else if (!steps[i].goes_on())
			return;
	}
}

void cp_fork_handlers_install(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

void cp_fork_handlers_begin(void)
{
	cp_store_release(&in_use, 1);
}
