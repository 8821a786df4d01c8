/* SPDX-License-Identifier: BSD-3-Clause */
/* Start, end, fork and exec; see session.h. */
#include "session/session.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/attach.h"
#include "modes/heap/allocator.h"
#include "session/window.h"

static const char *read_variable(const char *key)
{
	return secure_getenv(key);
}

static bool process_wanted(void)
{
	if (!cp_config_starts(&cp_session.config))
		return false;
	if (!cp_session.process_tree.owner && !cp_session.config.follow)
		return false;
	return cp_config_wants_program(&cp_session.config, program_invocation_short_name) ||
	       cp_config_wants_program(&cp_session.config, cp_session.facts.program);
}

/* Companions and descendants are reported only when they have something to show. */
static void say_start(void)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES && cp_session.process_tree.owner;
	     m = cp_mode_ops_after(m))
		if (cp_runs_wants(m))
			cp_log("%s profile of %s (pid %d) goes to %s; unwinder %s",
			       cp_modes[m]->name, cp_session.facts.program, cp_profiled_pid(),
			       cp_session.runs[m].path, cp_capture_settings.unwinder->name);
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m))
		if (cp_runs_wants(m) && cp_modes[m]->started_verbose)
			cp_modes[m]->started_verbose();
}

/* Makes the paths mean the same file in every descendant. */
static void pin_paths(void)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m)) {
		const char *path = read_variable(cp_config_variable(m));

		if (path && *path)
			cp_session.shared[m] = cp_process_tree_pin(
				&cp_session.process_tree, environ, cp_config_variable(m), path);
	}
}

static bool is_preloaded(void)
{
	const char *list = read_variable("LD_PRELOAD");

	return list && strstr(list, "libcprof");
}

/* Report a misspelt variable once. If the misspelling turned the profile off, only the parent can
 * tell whether it was reported. */
static void say_unknown(bool any_mode)
{
	struct cp_unknown u;
	size_t at = 0;

	if (getauxval(AT_SECURE))
		return;
	/* A program that is linked with the library may have variables of its own. */
	if (!any_mode && !is_preloaded())
		return;
	while (cp_unknown_next(environ, &at, &u)) {
		if (any_mode ? !cp_session.process_tree.owner
			     : !u.meant || cp_process_tree_parent_has(u.name))
			continue;
		if (u.meant)
			cp_log("%s is not a setting: did you mean %s?", u.name, u.meant);
		else
			cp_log("%s is not a setting; cprof-environment(7) lists all settings",
			       u.name);
	}
}

/* Without a mode, the signals that ask for profiles stay the program's. */
static void leave_signals(struct cp_config *c)
{
	c->dump_signal = c->toggle_signal = c->heap_signal = 0;
}

/* Reading all settings writes to ten pages; a process that isn't profiled avoids this. */
static bool any_path(void)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m)) {
		const char *path = read_variable(cp_config_variable(m));

		if (path && *path)
			return true;
	}
	return read_variable("CPROF_CONTROL") || read_variable("CPROF_SERVE");
}

/* Give jemalloc's own profiler libcprof's unwinder, also where no mode is on. With ASKED, the
 * settings say whether. Only what starts the profiler of a jemalloc inside the program is worth a
 * search of the program's file. */
static void begin_backtraces(const struct cp_config *asked)
{
	static const char *const of_jemalloc[] = { "MALLOC_CONF", "_RJEM_MALLOC_CONF",
						   "JE_MALLOC_CONF" };
	const char *off = read_variable("CPROF_JEMALLOC_BACKTRACE");
	bool in_file = false;

	if (asked ? !asked->jemalloc_backtrace : off && !strcmp(off, "0"))
		return;
	for (size_t i = 0; i < sizeof(of_jemalloc) / sizeof(*of_jemalloc); i++) {
		const char *settings = read_variable(of_jemalloc[i]);

		in_file |= settings && strstr(settings, "prof:true");
	}
	if (cp_jemalloc_hooks_backtrace(in_file))
		cp_fork_handlers_begin();
}

/* Does `cprof attach` load the library now? The environment may have settings that were meant for
 * another profiler (gperftools), which is at work with them. */
static bool is_attached_now(void)
{
	char name[16] = "";

	cp_sys2(SYS_prctl, PR_GET_NAME, name);
	return !strcmp(name, CP_ATTACH_THREAD);
}

void cp_process_begin(void)
{
	static struct cp_config c;
	const bool attached = is_attached_now();
	bool any;
	int err;

	cp_ticks_ask();
	cp_log_begin();
	cp_fork_handlers_install();
	cp_mode_ops_set(cp_modes);
	any = !attached && any_path();
	cp_profiled_begin();
	cp_session_start_learn_tree();
	/* A bad value is reported once, and not by every child of a make. */
	if (any && cp_session.process_tree.owner)
		cp_config_read_for(&c, read_variable, program_invocation_short_name);
	else if (any)
		cp_config_read_quietly(&c, read_variable);
	any = any && cp_config_starts(&c);
	if (any && !cp_config_any(&c))
		leave_signals(&c);
	if (!attached)
		say_unknown(any);
	cp_threads_register();
	if (!attached)
		begin_backtraces(any ? &c : NULL);
	if (!any)
		return;
	cp_config_copy(&cp_session.config, &c);
	pin_paths();
	cp_process_info_read(&cp_session.facts);
	if (!process_wanted())
		return;
	err = cp_session_start(&c, true);
	if (!err && c.verbose)
		say_start();
}

static void say_run(const struct cp_run *r)
{
	struct cp_comments report;

	cp_comments_make(&report, r, &cp_session.config);
	for (unsigned i = 0; i < report.count; i++)
		cp_log("%s", report.lines[i]);
}

static void say_end(void *arg)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		const struct cp_run *r = &cp_session.runs[m];

		if (r->running && r->written_ns)
			say_run(r);
	}
}

void cp_process_leave(void)
{
	if (!cp_profiled_is_ours())
		return;
	cp_fatal_await();
	cp_session_leave();
	cp_session_dump_asked();
}

void cp_process_end(const char *when)
{
	if (!cp_profiled_is_ours())
		return;
	cp_fatal_await();
	cp_session_leave();
	/* Each page fault of the write would be an event. */
	cp_mode_ops_suspend(false);
	cp_sys_keep_pages();
	cp_process_write_last(when);
	cp_session_dump_asked();
}

void cp_process_thread_exit(int status)
{
	struct cp_thread *self;

	/* Checked first: in a sandbox that retired the profiler, no system call is allowed. */
	if (!cp_profiled_is_ours())
		return;
	/* A thread of a raw clone may have its creator's TLS. */
	self = cp_tls_is_libc() ? cp_self.thread : NULL;
	if (!self || cp_load_relaxed(&self->tid) != cp_sys_gettid())
		return;
	if (!cp_collect_loop_only_caller()) {
		cp_threads_end_raw(status & 0xff);
		return;
	}
	cp_process_end("at exit");
	cp_collect_thread_stop();
}

void cp_process_write_last(const char *when)
{
	if (!cp_profiled_is_ours())
		return;
	cp_session_finish(when, UINT_MAX);
	if (cp_session.config.verbose)
		cp_collect_run(say_end, NULL);
}

int cp_process_daemon_begin(void)
{
	if (cp_profiled_is_ours()) {
		cp_session_leave();
		cp_session_write("before daemon", false);
		cp_session_dump_asked();
	}
	return cp_sys_getpid();
}

void cp_process_daemon_end(int pid)
{
	if (cp_profiled_is_ours() && cp_sys_getpid() == pid)
		cp_session_stay();
}

void cp_process_exec_begin(void)
{
	if (cp_profiled_is_ours()) {
		cp_fatal_await();
		cp_session_leave();
		cp_control_wait_for_answer();
		cp_mode_ops_suspend(false);
		cp_session_write("before exec", true);
	}
	/* Also in the child of a vfork, and after a stop. */
	cp_signals_exec_begin();
}

void cp_process_exec_failed(void)
{
	cp_signals_exec_failed();
	if (!cp_profiled_is_ours())
		return;
	cp_mode_ops_resume();
	cp_session_stay();
}

bool cp_process_shares_any(void)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m))
		if (cp_session.shared[m])
			return true;
	return false;
}

bool cp_process_shares(char *const *environment)
{
	for (; environment && *environment; environment++)
		for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES;
		     m = cp_mode_ops_after(m)) {
			const char *variable = cp_config_variable(m);
			size_t n = strlen(variable);

			if (cp_session.shared[m] && !strncmp(*environment, variable, n) &&
			    (*environment)[n] == '=' &&
			    cp_path_same(*environment + n + 1, cp_session.shared[m]))
				return true;
		}
	return false;
}

void cp_process_write_variable(char *to, size_t size, bool child)
{
	unsigned sequence = cp_session.process_tree.sequence;

	/* The next program image of this pid must not overwrite the files of this one. */
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m)) {
		const struct cp_run *r = &cp_session.runs[m];
		unsigned written = r->sequence + (r->written_ns != 0);

		if (r->running && written > sequence)
			sequence = written;
	}
	cp_process_tree_write(&cp_session.process_tree, child ? 0 : cp_profiled_pid(), sequence, to,
			      size);
}

size_t cp_process_variable_room(void)
{
	return cp_process_tree_room(&cp_session.process_tree);
}

/* Resets the modes in the child. With KEEP, every running mode goes on; with NULL, every mode that
 * was ever begun is turned off. */
static void fork_modes(struct cp_thread *keep)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		struct cp_run *r = &cp_session.runs[m];

		if ((r->running || (!keep && r->ops)) && r->ops->fork_child)
			r->ops->fork_child(r, keep);
	}
}

/* Makes the profiler inert: CPROF_FOLLOW=0 is set, or the session's state does not allow it to go
 * on. */
static void leave_child_alone(void)
{
	fork_modes(NULL);
	cp_own_time_fork_child();
	cp_session.next_checkpoint = UINT64_MAX;
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		cp_session.runs[m].running = false;
	cp_signals_remove();
	cp_profiled_set_active(false);
}

void cp_process_leave_others(void)
{
	if (!cp_profiled_active() || !cp_fork_mark_is_gone())
		return;
	/* The child inherits no timers, no threads and no kernel pages of the profiler. Objects
	 * with their numbers and addresses belong to the program here. */
	cp_thread_fork_child(NULL);
	cp_self.thread = NULL;
	cp_disposition_fork_child();
	leave_child_alone();
	cp_profiled_retire();
}

static bool forked_alone; /* set in a child before cp_process_forked */

void cp_process_fork_child(bool alone)
{
	forked_alone = alone;
	cp_window_forget_toggles();
	cp_fork_mark_set();
	cp_profiled_begin();
}

bool cp_process_fork_goes_on(bool halfway)
{
	if (!cp_profiled_active()) {
		/* Another thread may have been in a stop and may have held the modes' locks. */
		fork_modes(NULL);
		return false;
	}
	cp_session.facts.path.pid = cp_profiled_pid();
	cp_session.process_tree.owner = false;
	cp_session.process_tree.sequence = 0;
	cp_session.process_tree.execed = false;
	cp_session.process_tree.start_ns = cp_sys_clock_ns(CLOCK_REALTIME);
	cp_session.process_tree.subreaper |= cp_profiled_pid() == 1;
	cp_session.finished = cp_session.ending = false;
	cp_session.leaving = cp_session.put_off = 0;
	if (halfway || !cp_session.config.follow) {
		leave_child_alone();
		return false;
	}
	return true;
}

void cp_process_fork_modes(void)
{
	fork_modes(cp_self.thread);
}

static bool any_has_a_clock(void)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		if (cp_session.runs[m].running && cp_session.runs[m].ops->tick)
			return true;
	return false;
}

void cp_process_forked(void)
{
	/* The child of a program with several threads may call few functions of libc, and none that
	 * locks. The profiler itself never holds a libc lock. */
	if (forked_alone && cp_profiled_is_ours() && (any_has_a_clock() || cp_control_wanted(true)))
		cp_collect_thread_revive();
	forked_alone = false;
}

bool cp_process_gives_way(int err)
{
	return err == EAGAIN && cp_profiled_is_ours() && !cp_sys_has_deadline() &&
	       cp_collect_thread_give_way();
}

void cp_process_thread_created(void)
{
	if (!cp_profiled_is_ours())
		return;
	/* A fork child starts without a collector and gets one with its second thread. */
	cp_collect_thread_revive();
}

void cp_process_awaits_queue(void)
{
	cp_worker_stay_in_table();
}

void cp_process_becomes_subreaper(void)
{
	cp_session.process_tree.subreaper = true;
}

void cp_process_is_interposed(void)
{
	cp_collect_thread_allow_raw_task();
}
