/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the session. Everything that a mode needs is checked before the first sample is taken.
 * See session.h. */
#include "session/session.h"

#include <errno.h>
#include <unistd.h>

#include "session/window.h"
#include "unwind/unwind.h"
#include "host/real.h"
#include "base/text.h"

/* Modes may be started from outside later, when there is no ordinary context. The heap mode's
 * preparation, a search of the program's file, is left out, because it takes long. */
static bool may_be_added(unsigned m, const struct cp_config *c)
{
	return m != CPROF_HEAP && c->control != CP_CONTROL_OFF;
}

static void prepare_modes(const struct cp_config *c)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m))
		if ((c->path[m][0] || may_be_added(m, c)) && cp_modes[m] && cp_modes[m]->prepare)
			cp_modes[m]->prepare(c);
}

/* Called when a ring is half full. */
static void wake(void)
{
	cp_collect_request(CP_REQUEST_DRAIN);
}

static int choose_engine(void)
{
	cp_capture_settings.unwinder = cp_unwinders_choose(cp_session.config.unwind);
	cp_capture_settings.max_depth = cp_session.config.max_depth;
	cp_capture_settings.times = cp_session.config.times != 0;
	cp_capture_settings.wake = wake;
	cp_ring_configure(cp_session.config.max_depth);
	return cp_capture_settings.unwinder ? 0 : -ENOSYS;
}

void cp_session_start_learn_tree(void)
{
	if (!cp_session.process_tree_known)
		cp_process_tree_read(&cp_session.process_tree, environ);
	cp_session.process_tree_known = true;
}

static void refuse_mode(unsigned m, int err)
{
	if (m < CP_MAIN_MODES) {
		cp_log("%s: no profile: %s: %s; %s", cp_config_variable(m),
		       cp_session.config.path[m], cp_log_errno_text(err), cp_log_errno_advice(err));
		cp_session.config.path[m][0] = '\0';
	} else {
		cp_log("no %s profile: %s; %s", cp_modes[m]->name, cp_log_errno_text(err),
		       cp_log_errno_advice(err));
	}
}

/* Check that every mode with a path can run. Returns 0, or the first mode's error. With EACH, a
 * mode that can't run is reported and left out. */
static int check_modes(bool each)
{
	int first = 0;

	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m)) {
		const char *path = cp_session.config.path[m];
		int err = path[0] ? cp_mode_set_check_path(m, path) : 0;

		first = first ? first : err;
		if (err && each)
			refuse_mode(m, err);
	}
	return each && cp_config_any(&cp_session.config) ? 0 : first;
}

/* Returns whether valgrind runs the program, by looking for a function that valgrind preloads.
 * Under valgrind, threads run one at a time, signals are delayed, and the profiler's reads of
 * stacks are reported as errors of the program. */
static bool runs_in_valgrind(void)
{
	return cp_loaded_first("_vgnU_freeres") != NULL;
}

/* Finds the variable in which an OpenTelemetry SDK publishes each thread's trace:
 * sample/thread.h. Ordinary context. */

/* More than the static TLS of any program. Blocks that are made later are further away, or on the
 * other side. */
#define NEAR 65536

/* Sets cp_trace_context_at if the program, or a library that it started with, has the variable, and
 * unless the settings leave the labels out. */
static void trace_symbol_find(void)
{
	const char *variable, *tls = cp_thread_pointer();
	int64_t at = 0;

	if (cp_session_keeps_label(CP_TRACE_LABEL) && cp_session_keeps_label(CP_SPAN_LABEL)) {
		variable = cp_loaded_first(CP_TRACE_SYMBOL);
		at = variable ? variable - tls : 0;
	}
#ifdef __x86_64__
	at = -at;
#endif
	if (at <= 0 || at >= NEAR)
		at = 0;
#ifdef __x86_64__
	at = -at;
#endif
	cp_store_relaxed(&cp_trace_context_at, at);
}

static int prepare_all(bool each)
{
	int err;

	if (runs_in_valgrind()) {
		if (each)
			cp_log("no profile: valgrind runs the program");
		return -EOPNOTSUPP;
	}
	cp_ticks_ask();
	err = choose_engine();
	if (!err)
		err = cp_collect_init(&cp_session_in_collector);
	if (err && each)
		cp_log("no profile: %s; %s", cp_log_errno_text(err), cp_log_errno_advice(err));
	if (err)
		return err;
	cp_sink_gzip_load();
	cp_helper_prepare();
	prepare_modes(&cp_session.config);
	trace_symbol_find();
	cp_process_info_read(&cp_session.facts);
	cp_session_start_learn_tree();
	return check_modes(each);
}

/* Returns whether no mode is on although one should be. */
static bool began_nothing(const struct cp_window_call *call, bool each)
{
	return call->result && !(each && (cp_runs_any() || cp_session.config.toggle_signal));
}

/* Takes SIGPROF if a mode of C samples by it, now or when it is toggled on: threads that are made
 * from here on are sampled even if they block SIGPROF. */
static void claim_sigprof(const struct cp_config *c)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m))
		if (c->path[m][0] && cp_modes[m]->by_sigprof) {
			cp_signals_claim_prof();
			cp_deferred_import_mask();
			return;
		}
}

/* Adds modes to a running session. Returns 0 or a negative errno. */
static int add_modes(const struct cp_config *c)
{
	struct cp_window_call call = { .when = "at the start", .config = c };
	int err = cp_mode_set_check_added(c);

	if (err)
		return err;
	prepare_modes(c);
	claim_sigprof(c);
	cp_collect_run(cp_window_add, &call);
	if (!call.result)
		cp_runs_tell(c);
	return call.result;
}

/* If /proc is not mounted, as in a chroot, ask the loader for the list of modules. */
static void learn_modules(void)
{
	char path[CP_THREAD_FILE_PATH];

	cp_loader_maps_clear();
	if (cp_sys3(SYS_faccessat, AT_FDCWD, cp_thread_file_path(path, "maps"), R_OK) != -ENOENT)
		return;
	cp_module_list_of_libc(cp_loader_maps_add, NULL);
	cp_notes_note(CP_NOTE_PROC,
		      "/proc is not mounted: modules that were loaded after the start "
		      "have no names, nor have threads");
}

/* ---- requests that signals make of the session: dumps, toggles, and the profiles before the
 * process ends ---- */

static void dump_mode(unsigned mode)
{
	if (cp_profiled_is_ours())
		cp_collect_request(mode < CP_MAIN_MODES ? CP_REQUEST_DUMP_OF(mode)
							: CP_REQUEST_DUMP);
}

static void toggle(void)
{
	if (!cp_profiled_is_ours())
		return;
	cp_window_note_toggle();
	cp_collect_request(CP_REQUEST_TOGGLE);
}

static void write_before_abort(void)
{
	cp_session_write("before abort", false);
}

/* Write the profiles before a fatal signal ends the process. After a crash the debugger should get
 * the process at once. A process that was asked to end still has a second for line numbers. */
static void end_by_signal(bool crash)
{
	if (cp_profiled_is_ours())
		cp_session_leave();
	if (crash) {
		cp_session_write("before a fatal signal", false);
	} else {
		cp_session_finish("before a fatal signal", 1);
		cp_session_dump_asked();
	}
}

static void go_on(void)
{
	cp_session_stay();
}

/* Argument of cp_signals_install. */
static const struct cp_signal_work signal_requests_work = {
	.dump = dump_mode,
	.toggle = toggle,
	.write = write_before_abort,
	.end = end_by_signal,
	.go_on = go_on,
};

int cp_session_start(const struct cp_config *c, bool each)
{
	struct cp_window_call call = { .when = "at the start",
				       .failed = each ? refuse_mode : NULL };
	int err;

	if (cp_profiled_is_ours())
		return add_modes(c);
	if (cp_profiled_active())
		return -EALREADY;
	cp_real_resolve();
	cp_mode_ops_set(cp_modes);
	cp_config_copy(&cp_session.config, c);
	cp_profiled_return();
	cp_notes_begin(c->verbose);
	/* Must come before any walk of the list of modules. */
	cp_fork_handlers_begin();
	learn_modules();
	cp_threads_register();
	err = prepare_all(each);
	if (err)
		return err;
	cp_dlclose_gate_unloaded = cp_mode_ops_unloaded;
	cp_profiled_begin();
	cp_fork_mark_set();
	cp_session.next_checkpoint = UINT64_MAX;
	cp_profiled_set_active(true);
	cp_signals_install(c, &signal_requests_work);
	claim_sigprof(c);
	cp_collect_run(cp_window_begin, &call);
	if (began_nothing(&call, each)) {
		cp_collect_run(cp_window_abandon, NULL);
		cp_signals_remove();
		cp_profiled_set_active(false);
		return call.result;
	}
	cp_runs_tell(c);
	cp_collect_thread_start();
	return 0;
}

int cp_session_start_idle(void)
{
	static struct cp_config c;

	if (cp_session.config.control != CP_CONTROL_ON || cp_profiled_active() ||
	    cp_profiled_retired())
		return -EOPNOTSUPP;
	cp_config_copy(&c, &cp_session.config);
	c.dump_signal = c.toggle_signal = c.heap_signal = 0;
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m))
		c.path[m][0] = '\0';
	return cp_session_start(&c, false);
}
