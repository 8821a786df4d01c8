/* Begin, end, fork and exec; see process.h. */
#include "process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect.h"
#include "cpu.h"
#include "log.h"
#include "report.h"
#include "session.h"
#include "session_state.h"
#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
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
	if (!cp_session.config.cpu_path[0])
		return false;
	if (!cp_session.lineage.owner && !cp_session.config.follow)
		return false;
	return cp_config_wants_program(&cp_session.config, program_invocation_short_name) ||
	       cp_config_wants_program(&cp_session.config, cp_session.facts.program);
}

static void say_start(void)
{
	cp_log("CPU profile of %s (pid %d) goes to %s; unwinder %s, %u Hz",
	       cp_session.facts.program, cp_session.pid, cp_session.run.path,
	       cp_capture_settings.unwinder->name, cp_session.config.cpu_frequency);
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
	if (!c.cpu_path[0])
		return;
	cp_session.shared = cp_lineage_pin(&cp_session.lineage, environ, "CPUPROFILE", c.cpu_path);
	cp_facts_read(&cp_session.facts);
	if (!wanted())
		return;
	err = cp_session_start(&c);
	if (err)
		cp_log("no CPU profile: %s: %s",
		       cp_session.run.path[0] ? cp_session.run.path : c.cpu_path,
		       cp_errno_text(err));
	else if (c.verbose)
		say_start();
}

static void say_end(void *arg)
{
	struct cp_report report;

	if (!cp_session.running)
		return;
	cp_report_make(&report, &cp_session.run, &cp_session.config);
	for (unsigned i = 0; i < report.count; i++)
		cp_log("%s", report.lines[i]);
}

void cp_process_end(const char *when)
{
	if (!cp_session_is_ours())
		return;
	cp_session_write(when);
	if (cp_session.config.verbose)
		cp_collect_run(say_end, NULL);
}

void cp_process_exec_begin(void)
{
	struct cp_window_call call = { .when = "before exec" };

	if (cp_session_is_ours()) {
		cp_collect_run(cp_window_drain, NULL);
		if (cp_session.running && cp_session.run.aggregate.records)
			cp_collect_run(cp_window_write, &call);
		cp_cpu_exec_begin();
	}
	/* Also in the child of a vfork, and after a stop. */
	cp_signals_exec_begin();
}

void cp_process_exec_failed(void)
{
	cp_signals_exec_failed();
	if (cp_session_is_ours())
		cp_cpu_exec_failed();
}

bool cp_process_shares(const char *cpu_path)
{
	return cp_session.shared && !strcmp(cpu_path, cp_session.shared);
}

bool cp_process_is_this(void)
{
	return cp_sys_getpid() == cp_session.pid;
}

void cp_process_lineage(char *to, size_t size, bool child)
{
	struct cp_lineage l = cp_session.lineage;

	/* The next image of this pid must not write over what this one wrote. */
	if (cp_session.running)
		l.sequence = cp_session.run.sequence + cp_session.run.written;
	cp_lineage_write(&l, child ? 0 : cp_sys_getpid(), to, size);
}

/* CPROF_FOLLOW=0: as if we weren't there. */
static void leave_child_alone(void)
{
	cp_session.running = false;
	cp_cpu_fork_child(NULL);
	cp_cpu_stop();
	cp_signals_remove();
	cp_store_release(&cp_session.active, 0);
}

void cp_process_fork_child(void)
{
	if (!cp_session_active())
		return;
	cp_session.pid = cp_sys_getpid();
	cp_session.facts.path.pid = cp_session.pid;
	cp_session.lineage.owner = false;
	cp_session.lineage.sequence = 0;
	if (!cp_session.config.follow) {
		leave_child_alone();
		return;
	}
	if (cp_session.running && cp_window_fork_child() < 0)
		cp_session.run.path[0] = '\0';
	cp_cpu_fork_child(cp_self.thread);
}

void cp_process_thread_created(void)
{
	/* A fork child starts without a collector; with a second thread it gets one. */
	if (cp_session_is_ours())
		cp_collect_revive();
}
