/* SPDX-License-Identifier: BSD-3-Clause */
/* Stops the session and writes its profiles; see session.h. */
#include "session/session.h"

#include <errno.h>
#include <limits.h>

#include "base/text.h"
#include "unwind/unwind.h"
#include "session/window.h"

bool cp_session_keeps_label(const char *key)
{
	return !cp_session.config.label_keys[0] ||
	       cp_globs_match(cp_session.config.label_keys, key);
}

static void write_last(void)
{
	cp_session_finish("at the end of its last thread", UINT_MAX);
	cp_session_dump_asked();
}

const struct cp_collect_work cp_session_in_collector = {
	.serve = cp_window_serve,
	.due = cp_window_due,
	.busy = cp_runs_any,
	.controlled = cp_control_wanted,
	.control_place = cp_control_where,
	.control_failed = cp_control_failed,
	.answer = cp_control_answer_request,
	.answered = cp_control_see_answered,
	.last = write_last,
};

int cp_session_stop(void)
{
	struct cp_window_call call = { .when = "at the stop" };

	if (!cp_profiled_is_ours())
		return -ESRCH;
	cp_collect_thread_stop();
	cp_collect_run(cp_window_end, &call);
	cp_signals_remove();
	cp_profiled_set_active(false);
	return call.result;
}

bool cp_session_is_idle(void)
{
	return cp_profiled_is_ours() && !cp_config_any(&cp_session.config);
}

int cp_session_stop_mode(enum cprof_mode mode)
{
	struct cp_window_call call = { .when = "at the stop", .mode = mode };

	if (!cp_profiled_is_ours() || mode >= CP_MAIN_MODES || !cp_session.config.path[mode][0])
		return -ESRCH;
	cp_collect_run(cp_window_end_mode, &call);
	if (cp_config_any(&cp_session.config))
		return call.result;
	cp_session_stop();
	return call.result;
}

void cp_session_retire(const char *why)
{
	struct cp_window_call call = { .when = why };

	if (!cp_profiled_is_this())
		return;
	if (!cp_profiled_active()) {
		cp_profiled_retire();
		return;
	}
	cp_notes_note(CP_NOTE_END, "profiling ended before the program: %s", why);
	cp_collect_thread_stop();
	cp_collect_run(cp_window_end, &call);
	cp_signals_remove();
	cp_profiled_retire();
	cp_profiled_set_active(false);
}

void cp_session_write(const char *when, bool before_exec)
{
	struct cp_window_call call = { .when = when, .before_exec = before_exec };

	if (cp_profiled_is_ours())
		cp_collect_run(cp_window_write, &call);
}

bool cp_session_runs(enum cprof_mode mode)
{
	return cp_profiled_is_ours() && cp_load_relaxed(&cp_session.runs[mode].running);
}

void cp_session_path(enum cprof_mode mode, char *to, size_t size)
{
	char path[CP_PATH_MAX];

	if (cp_dump_path(&cp_session.runs[mode], path, sizeof(path)) < 0)
		path[0] = '\0';
	cp_text_format(to, size, "%s", path);
}

uint64_t cp_session_since(enum cprof_mode mode)
{
	return cp_load_relaxed(&cp_session.runs[mode].start_utc_ns) / 1000000000u;
}

enum cprof_mode cp_session_named_mode(void)
{
	return cp_session.config.named_mode;
}

/* Dump on the calling thread, whose events aren't counted meanwhile. */
static void dump(struct cp_window_call *call)
{
	cp_mode_ops_suspend(true);
	cp_collect_run(cp_window_dump, call);
	cp_mode_ops_resume();
}

int cp_session_dump_heap(const char *reason)
{
	struct cp_window_call call = { .when = reason, .modes = CP_REQUEST_DUMP_OF(CPROF_HEAP) };

	if (!cp_session_runs(CPROF_HEAP))
		return -ESRCH;
	dump(&call);
	return call.result;
}

static void withdraw(void *unused)
{
	cp_control_path_withdraw();
}

void cp_session_leave(void)
{
	cp_add_seqcst(&cp_session.leaving, 1);
	if (cp_session.config.control_path[0])
		cp_collect_run(withdraw, NULL);
}

void cp_session_dump_asked(void)
{
	if (cp_profiled_is_ours())
		cp_collect_run(cp_window_asked, NULL);
}

void cp_session_stay(void)
{
	uint32_t put_off;

	if (cp_add_seqcst(&cp_session.leaving, -1u) != 1)
		return;
	put_off = cp_exchange_acqrel(&cp_session.put_off, 0);
	if (put_off || cp_control_path_is_withdrawn())
		cp_collect_request(put_off);
}

void cp_session_finish(const char *when, unsigned seconds)
{
	struct cp_window_call call = { .when = when };
	const struct cp_self *self;
	struct cp_thread *t;
	bool done;

	if (!cp_profiled_is_ours())
		return;
	self = cp_thread_libc_self();
	t = self ? self->thread : NULL;
	if (t)
		cp_store_release(&t->finishing, true);
	cp_control_wait_for_answer();
	cp_collect_run(cp_window_finish, &call);
	if (t)
		cp_store_release(&t->finishing, false);
	cp_control_path_remove();
	if (!call.helper)
		return;
	/* There may be many descendants, so their helpers are not waited for. */
	done = cp_helper_wait(call.helper, cp_session.process_tree.owner ? seconds : 0);
	if (cp_session.config.verbose)
		cp_log("lines and inlined calls %s",
		       done ? "were added"
			    : "are left to cprof in the background; the files are complete with "
			      "names");
}

int cp_session_heap_text(struct cp_memory_sink *to)
{
	struct cp_window_call call = { .mode = CPROF_HEAP, .sink = &to->sink, .as_text = true };

	cp_sink_memory_open(to);
	if (!cp_session_runs(CPROF_HEAP))
		return -ESRCH;
	dump(&call);
	return call.result;
}

enum cprof_mode cp_session_first_mode(void)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m))
		if (cp_load_relaxed(&cp_session.runs[m].running))
			return m;
	return CPROF_CPU;
}

int cp_session_dump(enum cprof_mode mode, const char *path)
{
	struct cp_window_call call = { .mode = mode, .path = path, .modes = CP_REQUEST_DUMP };

	if (!cp_profiled_is_ours())
		return -ESRCH;
	dump(&call);
	return call.result;
}

int cp_session_dump_last(uint64_t ns)
{
	struct cp_window_call call = { .modes = CP_REQUEST_DUMP, .since_ns = cp_runs_since(ns) };

	if (!cp_profiled_is_ours())
		return -ESRCH;
	dump(&call);
	return call.result;
}

/* Only the encoding runs under the lock. A reader that doesn't read would otherwise block the
 * lock, and with it every way out of the process. */
int cp_session_dump_fd(enum cprof_mode mode, int fd)
{
	struct cp_memory_sink memory;
	struct cp_window_call call = { .mode = mode, .sink = &memory.sink };

	if (!cp_profiled_is_ours())
		return -ESRCH;
	cp_sink_memory_open(&memory);
	dump(&call);
	if (!call.result)
		call.result = cp_fdwrite_all(fd, memory.data, memory.used, true);
	cp_sink_memory_release(&memory);
	return call.result;
}

void cp_session_drain_unloading(void)
{
	uint64_t loads = cp_module_diff_loads();

	if (cp_profiled_is_ours())
		cp_collect_run(cp_window_drain_unloading, &loads);
}

void cp_session_drain_rest(void)
{
	if (cp_profiled_is_ours() && cp_drain_has_more(cp_self.thread))
		cp_collect_run(cp_window_drain, NULL);
}

/* Returns whether the collector's thread must follow the caller's change. A change by another
 * thread concerns only that thread, such as a server thread that acts for a user. The collector's
 * thread must match main; otherwise libc would get two different results when it changes all
 * threads. */
static bool is_followed(void)
{
	return cp_sys_gettid() == cp_sys_getpid() || cp_threads_alone();
}

bool cp_session_park(void)
{
	if (!cp_profiled_is_ours() || !is_followed())
		return false;
	cp_collect_thread_park();
	return true;
}

bool cp_session_park_raw_task(void)
{
	if (!cp_profiled_is_ours() || !cp_collect_is_raw_task())
		return false;
	cp_collect_thread_park();
	return true;
}

void cp_session_unpark(bool parked)
{
	int saved = errno;

	if (parked)
		cp_collect_thread_unpark(cp_profiled_is_ours());
	errno = saved;
}

void cp_session_stats(enum cprof_mode mode, struct cprof_stats *s)
{
	struct cp_window_call call = { .mode = mode, .stats = s };

	if (cp_collect_init(&cp_session_in_collector) == 0)
		cp_collect_run(cp_window_stats, &call);
}
