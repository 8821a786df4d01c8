/* Begin, end, fork and exec; see process.h. */
#include "process.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect.h"
#include "cpu.h"
#include "log.h"
#include "mark.h"
#include "mode.h"
#include "own_time.h"
#include "report.h"
#include "session.h"
#include "runs.h"
#include "session_state.h"
#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/disposition.h"
#include "sigsafe/sys.h"
#include "signals.h"
#include "threads.h"
#include "window.h"

static const char *read_variable(const char *key)
{
	return secure_getenv(key);
}

static bool wanted(void)
{
	if (!cp_config_any(&cp_session.config))
		return false;
	if (!cp_session.lineage.owner && !cp_session.config.follow)
		return false;
	return cp_config_wants_program(&cp_session.config, program_invocation_short_name) ||
	       cp_config_wants_program(&cp_session.config, cp_session.facts.program);
}

/* Further views and descendants are said when they have something to show. */
static void say_start(void)
{
	for (unsigned m = 0; m < CP_MAIN_MODES && cp_session.lineage.owner; m++)
		if (cp_runs_wants(m))
			cp_log("%s profile of %s (pid %d) goes to %s; unwinder %s",
			       cp_modes[m]->name, cp_session.facts.program, cp_session.pid,
			       cp_session.runs[m].path, cp_capture_settings.unwinder->name);
	if (cp_runs_wants(CP_MODE_CPU))
		cp_log("cpu engine: %s; %s", cp_cpu_engine_name(), cp_cpu.why);
}

/* The paths mean the same to every descendant. */
static void pin_paths(void)
{
	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		const char *path = read_variable(cp_config_variable(m));

		if (path && *path)
			cp_session.shared[m] = cp_lineage_pin(&cp_session.lineage, environ,
							      cp_config_variable(m), path);
	}
}

void cp_process_begin(void)
{
	static struct cp_config c;
	int err;

	cp_log_begin();
	cp_config_read_quietly(&c, read_variable);
	cp_session.config = c;
	cp_session.pid = cp_sys_getpid();
	cp_session_learn_lineage();
	/* A bad value is said once, not by every child of a make. */
	if (cp_session.lineage.owner && cp_config_wants_program(&c, program_invocation_short_name))
		cp_config_read(&c, read_variable);
	cp_threads_adopt();
	if (!cp_config_any(&c))
		return;
	pin_paths();
	cp_facts_read(&cp_session.facts);
	if (!wanted())
		return;
	err = cp_session_start(&c, true);
	if (!err && c.verbose)
		say_start();
}

static void say_run(const struct cp_run *r)
{
	struct cp_report report;

	cp_report_make(&report, r, &cp_session.config);
	for (unsigned i = 0; i < report.count; i++)
		cp_log("%s", report.lines[i]);
}

static void say_end(void *arg)
{
	(void)arg;
	for (unsigned m = 0; m < CP_MODES; m++) {
		const struct cp_run *r = &cp_session.runs[m];

		if (r->running && r->written)
			say_run(r);
	}
}

void cp_process_leave(void)
{
	if (!cp_session_is_ours())
		return;
	cp_session_leave();
	cp_session_dump_asked();
}

void cp_process_end(const char *when)
{
	if (!cp_session_is_ours())
		return;
	cp_session_leave();
	cp_process_write_last(when);
	cp_session_dump_asked();
}

void cp_process_thread_exit(int status)
{
	struct cp_thread *self;

	/* Asked first: in a sandbox that retired us no system call is allowed. */
	if (!cp_session_is_ours())
		return;
	/* A raw clone may have its maker's TLS. */
	self = cp_tls_is_libc() ? cp_self.thread : NULL;
	if (!self || cp_load_relaxed(&self->tid) != cp_sys_gettid())
		return;
	if (!cp_collect_only_caller()) {
		cp_threads_end_raw(status & 0xff);
		return;
	}
	cp_process_end("at exit");
	cp_collect_stop();
}

void cp_process_write_last(const char *when)
{
	if (!cp_session_is_ours())
		return;
	cp_session_finish(when, UINT_MAX);
	if (cp_session.config.verbose)
		cp_collect_run(say_end, NULL);
}

int cp_process_daemon_begin(void)
{
	if (cp_session_is_ours()) {
		cp_session_leave();
		cp_session_write("before daemon", false);
		cp_session_dump_asked();
	}
	return cp_sys_getpid();
}

void cp_process_daemon_end(int pid)
{
	if (cp_session_is_ours() && cp_sys_getpid() == pid)
		cp_session_stay();
}

void cp_process_exec_begin(void)
{
	if (cp_session_is_ours()) {
		cp_session_leave();
		cp_session_write("before exec", true);
		cp_modes_exec_begin();
	}
	/* Also in the child of a vfork, and after a stop. */
	cp_signals_exec_begin();
}

void cp_process_exec_failed(void)
{
	cp_signals_exec_failed();
	if (!cp_session_is_ours())
		return;
	cp_modes_exec_failed();
	cp_session_stay();
}

bool cp_process_shares(char *const *environment)
{
	for (; environment && *environment; environment++)
		for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
			const char *variable = cp_config_variable(m);
			size_t n = strlen(variable);

			if (cp_session.shared[m] && !strncmp(*environment, variable, n) &&
			    (*environment)[n] == '=' &&
			    !strcmp(*environment + n + 1, cp_session.shared[m]))
				return true;
		}
	return false;
}

void cp_process_lineage(char *to, size_t size, bool child)
{
	unsigned sequence = cp_session.lineage.sequence;

	/* The next image of this pid must not write over what this one wrote. */
	for (unsigned m = 0; m < CP_MAIN_MODES; m++) {
		const struct cp_run *r = &cp_session.runs[m];

		if (r->running && r->sequence + r->written > sequence)
			sequence = r->sequence + r->written;
	}
	cp_lineage_write(&cp_session.lineage, child ? 0 : cp_sys_getpid(), sequence, to, size);
}

size_t cp_process_lineage_room(void)
{
	return cp_lineage_room(&cp_session.lineage);
}

/* Every mode that is on, or was begun ever, in the child: with KEEP, or off. */
static void fork_modes(struct cp_thread *keep)
{
	for (unsigned m = 0; m < CP_MODES; m++) {
		struct cp_run *r = &cp_session.runs[m];

		if ((r->running || (!keep && r->ops)) && r->ops->fork_child)
			r->ops->fork_child(r, keep);
	}
}

/* As if we weren't there: CPROF_FOLLOW=0; or the session is in no state to go on in. */
static void leave_child_alone(void)
{
	fork_modes(NULL);
	cp_own_time_fork_child();
	cp_session.next_checkpoint = UINT64_MAX;
	for (unsigned m = 0; m < CP_MODES; m++)
		cp_session.runs[m].running = false;
	cp_signals_remove();
	cp_store_release(&cp_session.active, 0);
}

void cp_process_leave_others(void)
{
	if (!cp_session_active() || !cp_mark_is_gone())
		return;
	/* Neither timers nor threads nor pages of the kernel's are inherited: what has their
	 * numbers and addresses here is the program's. */
	cp_thread_fork_child(NULL);
	cp_self.thread = NULL;
	cp_disposition_fork_child();
	leave_child_alone();
	cp_threads_retire();
}

static bool forked_alone; /* in a child that was not seen by cp_process_forked yet */

void cp_process_fork_child(bool alone, bool halfway)
{
	forked_alone = alone;
	cp_mark_set();
	if (!cp_session_active()) {
		/* A stop may have been on its way in another thread, with the modes' locks. */
		fork_modes(NULL);
		return;
	}
	cp_session.pid = cp_sys_getpid();
	cp_session.facts.path.pid = cp_session.pid;
	cp_session.lineage.owner = false;
	cp_session.lineage.sequence = 0;
	cp_session.lineage.adopted |= cp_session.pid == 1;
	cp_session.finished = false;
	cp_session.leaving = cp_session.put_off = 0;
	if (halfway || !cp_session.config.follow) {
		leave_child_alone();
		return;
	}
	cp_window_fork_child();
	fork_modes(cp_self.thread);
}

static bool any_has_a_clock(void)
{
	for (unsigned m = 0; m < CP_MODES; m++)
		if (cp_session.runs[m].running && cp_session.runs[m].ops->tick)
			return true;
	return false;
}

void cp_process_forked(void)
{
	/* The child of a program with several threads may call little of libc, and none of it that
	 * locks. Ours never holds a lock of libc's. */
	if (forked_alone && cp_session_is_ours() && any_has_a_clock())
		cp_collect_revive();
	forked_alone = false;
}

void cp_process_thread_created(void)
{
	if (!cp_session_is_ours())
		return;
	/* A fork child starts without a collector; with a second thread it gets one. */
	cp_collect_revive();
	cp_collect_attend();
}

void cp_process_adopts(void)
{
	cp_session.lineage.adopted = true;
}

void cp_process_is_interposed(void)
{
	cp_collect_allow_bare();
}
