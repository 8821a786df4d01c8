/* Start, stop and the life of the process; see session.h. */
#include "session.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect.h"
#include "cpu.h"
#include "dump.h"
#include "engine.h"
#include "facts.h"
#include "fork.h"
#include "lineage.h"
#include "log.h"
#include "real.h"
#include "report.h"
#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/gate.h"
#include "sigsafe/held.h"
#include "sigsafe/sys.h"
#include "sigsafe/text.h"
#include "signals.h"
#include "threads.h"

static struct {
	struct cp_config config;
	struct cp_lineage lineage;
	struct cp_facts facts;
	struct cp_run run;
	uint32_t active; /* between start and stop; read from any context */
	int pid;	 /* of the process that it is active in */
	bool running;	 /* RUN is filled: samples are taken; under the collector's lock */
	bool lineage_known;
	const char *shared;	  /* CPUPROFILE as our descendants have it; NULL = it is not set */
	unsigned windows;	  /* toggled on so often */
	uint64_t next_checkpoint; /* monotonic ns; UINT64_MAX = none */
	struct cp_run last_counters; /* of the last run, for statistics after a stop */
} session;

bool cp_session_active(void)
{
	return cp_load_acquire(&session.active) != 0;
}

bool cp_session_is_ours(void)
{
	return cp_session_active() && cp_sys_getpid() == session.pid;
}

/* ---- under the collector's lock ---- */

static void plan_checkpoint(void)
{
	uint64_t every = session.config.checkpoint_ns;

	session.next_checkpoint = every ? cp_run_clock(CLOCK_MONOTONIC) + every : UINT64_MAX;
}

/* The run's name: the configured path, and in toggle mode a number for each window, as
 * gperftools does it. */
static int name_run(void)
{
	char template[CP_PATH_MAX];

	if (session.config.toggle_signal)
		cp_format(template, sizeof(template), "%s.%u", session.config.cpu_path,
			  session.windows++);
	else
		cp_format(template, sizeof(template), "%s", session.config.cpu_path);
	session.run.owner = session.lineage.owner && !session.config.use_pid;
	session.run.sequence = session.lineage.sequence;
	session.run.claimed = false;
	return cp_path_expand(session.run.path, sizeof(session.run.path), template,
			      session.lineage.base, &session.facts.path, &session.run.unique);
}

static int begin_run(void)
{
	int err = name_run();

	if (err < 0)
		return err;
	cp_run_begin(&session.run);
	/* What rings still hold from an earlier run is not this one's. */
	cp_collect_drain(NULL);
	session.running = true;
	plan_checkpoint();
	return cp_cpu_start(session.config.cpu_frequency,
			    session.config.engine == CP_ENGINE_ITIMER);
}

static int end_run(const char *when)
{
	int err;

	if (!session.running)
		return 0;
	cp_cpu_stop();
	err = cp_dump_final(&session.run, &session.config, when);
	session.running = false;
	session.next_checkpoint = UINT64_MAX;
	session.last_counters = session.run;
	cp_run_release(&session.run);
	return err;
}

static void say_toggled(void)
{
	if (session.config.verbose)
		cp_log("CPU profiling is %s", session.running ? "on" : "off");
}

static void serve(uint32_t requests)
{
	/* As often as the signal came: two of them between two looks are a window, if a short one.
	 */
	for (unsigned n = requests & CP_REQUEST_TOGGLE ? cp_signals_toggles() : 0; n > 0; n--) {
		if (session.running)
			end_run("when toggled off");
		else
			begin_run();
		say_toggled();
	}
	if (!session.running)
		return;
	cp_run_work_begin(&session.run);
	cp_collect_drain(&session.run);
	if (requests & CP_REQUEST_DUMP)
		cp_dump_numbered(&session.run, &session.config);
	if (cp_run_clock(CLOCK_MONOTONIC) >= session.next_checkpoint) {
		cp_dump_final(&session.run, &session.config, "at a checkpoint");
		plan_checkpoint();
	}
	cp_run_work_end(&session.run);
}

static uint64_t due(void)
{
	return cp_load_relaxed(&session.next_checkpoint);
}

static const struct cp_collect_work work = { serve, due };

/* A call to make under the lock, and its result. */
struct call {
	const char *path, *when;
	int fd, result;
};

static void begin_locked(void *arg)
{
	struct call *c = arg;

	c->result = session.config.toggle_signal ? 0 : begin_run();
}

static void end_locked(void *arg)
{
	struct call *c = arg;

	c->result = end_run(c->when);
}

static void write_locked(void *arg)
{
	struct call *c = arg;

	if (!session.running)
		return;
	cp_run_work_begin(&session.run);
	c->result = cp_dump_final(&session.run, &session.config, c->when);
	cp_run_work_end(&session.run);
}

static void dump_locked(void *arg)
{
	struct call *c = arg;

	if (!session.running) {
		c->result = -ESRCH;
		return;
	}
	cp_run_work_begin(&session.run);
	if (c->path)
		c->result = cp_dump_to_path(&session.run, &session.config, c->path);
	else if (c->fd >= 0)
		c->result = cp_dump_to_fd(&session.run, &session.config, c->fd);
	else
		c->result = cp_dump_numbered(&session.run, &session.config);
	cp_run_work_end(&session.run);
}

static void drain_locked(void *arg)
{
	if (!session.running)
		return;
	cp_run_work_begin(&session.run);
	cp_collect_drain(&session.run);
	cp_run_work_end(&session.run);
}

/* ---- start and stop ---- */

/* Tell at the start, not after an hour, that there will be no file. */
static int check_path(const char *path)
{
	char directory[CP_PATH_MAX];
	struct stat st;
	char *slash;
	long err;

	err = cp_sys4(SYS_newfstatat, AT_FDCWD, path, &st, 0);
	if (err == 0)
		return S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) ? 0
		       : S_ISDIR(st.st_mode)			  ? -EISDIR
								  : -EINVAL;
	cp_format(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (!slash)
		return -EINVAL;
	slash[slash == directory] = '\0';
	/* As who we are, not as who called us: that differs in a set-user-id program. */
	err = cp_sys4(SYS_faccessat2, AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS);
	/* An old kernel, or a sandbox that doesn't know the call: the write will tell. */
	return err == -ENOSYS || err == -EPERM ? 0 : (int)err;
}

static int choose_engine(void)
{
	cp_capture_settings.unwinder = cp_engine_unwinder(session.config.unwind);
	cp_capture_settings.max_depth = session.config.max_depth;
	cp_capture_settings.wake = cp_engine_wake;
	cp_ring_configure(session.config.max_depth);
	return cp_capture_settings.unwinder ? 0 : -ENOSYS;
}

static void learn_lineage(void)
{
	if (!session.lineage_known)
		cp_lineage_read(&session.lineage, environ, session.config.cpu_path);
	session.lineage_known = true;
}

static int prepare(void)
{
	char name[CP_PATH_MAX];
	bool unique;
	int err = choose_engine();

	if (!err)
		err = cp_collect_init(&work);
	if (err)
		return err;
	cp_gzip_load();
	cp_facts_read(&session.facts);
	learn_lineage();
	err = cp_path_expand(session.run.path, sizeof(session.run.path), session.config.cpu_path,
			     session.lineage.base, &session.facts.path, &unique);
	if (!err)
		err = cp_path_number(name, sizeof(name), session.run.path, 0);
	return err ? err : check_path(name);
}

int cp_session_start(const struct cp_config *c)
{
	struct call call = { 0 };
	int err;

	if (cp_session_active())
		return -EALREADY;
	cp_real_resolve();
	session.config = *c;
	cp_threads_adopt();
	err = prepare();
	if (err)
		return err;
	cp_fork_install();
	session.pid = cp_sys_getpid();
	session.next_checkpoint = UINT64_MAX;
	cp_store_release(&session.active, 1);
	cp_signals_install(c->dump_signal, c->toggle_signal);
	cp_held_adopt();
	cp_collect_run(begin_locked, &call);
	if (call.result) {
		cp_signals_remove();
		cp_store_release(&session.active, 0);
		return call.result;
	}
	err = cp_collect_start();
	if (err)
		cp_log("no collector thread (%s): samples are collected by the program's own "
		       "threads",
		       cp_errno_text(err));
	return 0;
}

int cp_session_stop(void)
{
	struct call call = { .when = "at the stop" };

	if (!cp_session_is_ours())
		return -ESRCH;
	cp_collect_stop();
	cp_collect_run(end_locked, &call);
	cp_signals_remove();
	cp_store_release(&session.active, 0);
	return call.result;
}

void cp_session_retire(const char *why)
{
	struct call call = { .when = why };

	if (!cp_session_is_ours())
		return;
	cp_collect_stop();
	cp_collect_run(end_locked, &call);
	cp_signals_remove();
	cp_threads_retire();
	cp_store_release(&session.active, 0);
	cp_log("%s: profiling ends here", why);
}

void cp_session_write(const char *when)
{
	struct call call = { .when = when };

	if (cp_session_is_ours())
		cp_collect_run(write_locked, &call);
}

int cp_session_dump(const char *path, int fd)
{
	struct call call = { .path = path, .fd = fd };

	if (!cp_session_is_ours())
		return -ESRCH;
	cp_collect_run(dump_locked, &call);
	return call.result;
}

void cp_session_drain(void)
{
	if (cp_session_is_ours())
		cp_collect_run(drain_locked, NULL);
}

void cp_session_park(bool park)
{
	static bool parked;

	if (!cp_session_is_ours())
		return;
	if (park) {
		parked = cp_collect_alive();
		cp_collect_stop();
	} else if (parked) {
		cp_collect_start();
	}
}

/* ---- process life ---- */

static const char *read_variable(const char *key)
{
	return secure_getenv(key);
}

static bool wanted(void)
{
	if (!session.config.cpu_path[0])
		return false;
	if (!session.lineage.owner && !session.config.follow)
		return false;
	return cp_config_wants_program(&session.config, program_invocation_short_name) ||
	       cp_config_wants_program(&session.config, session.facts.program);
}

static void say_start(void)
{
	cp_log("CPU profile of %s (pid %d) goes to %s; unwinder %s, %u Hz", session.facts.program,
	       session.pid, session.run.path, cp_capture_settings.unwinder->name,
	       session.config.cpu_frequency);
}

void cp_session_begin_process(void)
{
	static struct cp_config c;
	int err;

	cp_log_begin();
	cp_config_read_quietly(&c, read_variable);
	session.config = c;
	session.pid = cp_sys_getpid();
	learn_lineage();
	/* A bad value is said once, not by every child of a make. */
	if (session.lineage.owner && cp_config_wants_program(&c, program_invocation_short_name))
		cp_config_read(&c, read_variable);
	cp_threads_adopt();
	if (!c.cpu_path[0])
		return;
	session.shared = cp_lineage_pin(&session.lineage, environ, "CPUPROFILE", c.cpu_path);
	cp_facts_read(&session.facts);
	if (!wanted())
		return;
	err = cp_session_start(&c);
	if (err)
		cp_log("no CPU profile: %s: %s",
		       session.run.path[0] ? session.run.path : c.cpu_path, cp_errno_text(err));
	else if (c.verbose)
		say_start();
}

static void say_end(void *arg)
{
	struct cp_report report;

	if (!session.running)
		return;
	cp_report_make(&report, &session.run, &session.config);
	for (unsigned i = 0; i < report.count; i++)
		cp_log("%s", report.lines[i]);
}

void cp_session_end_process(const char *when)
{
	if (!cp_session_is_ours())
		return;
	cp_session_write(when);
	if (session.config.verbose)
		cp_collect_run(say_end, NULL);
}

void cp_session_exec_begin(void)
{
	struct call call = { .when = "before exec" };

	if (cp_session_is_ours()) {
		cp_collect_run(drain_locked, NULL);
		if (session.running && session.run.aggregate.records)
			cp_collect_run(write_locked, &call);
		cp_cpu_exec_begin();
	}
	/* Also in the child of a vfork, and after a stop. */
	cp_signals_exec_begin();
}

void cp_session_exec_failed(void)
{
	cp_signals_exec_failed();
	if (cp_session_is_ours())
		cp_cpu_exec_failed();
}

bool cp_session_shares(const char *cpu_path)
{
	return session.shared && !strcmp(cpu_path, session.shared);
}

bool cp_session_is_this_process(void)
{
	return cp_sys_getpid() == session.pid;
}

void cp_session_lineage(char *to, size_t size, bool child)
{
	struct cp_lineage l = session.lineage;

	/* The next image of this pid must not write over what this one wrote. */
	if (session.running)
		l.sequence = session.run.sequence + session.run.written;
	cp_lineage_write(&l, child ? 0 : cp_sys_getpid(), to, size);
}

/* CPROF_FOLLOW=0: as if we weren't there. */
static void leave_child_alone(void)
{
	session.running = false;
	cp_cpu_fork_child(NULL);
	cp_cpu_stop();
	cp_signals_remove();
	cp_store_release(&session.active, 0);
}

void cp_session_fork_child(void)
{
	if (!cp_session_active())
		return;
	session.pid = cp_sys_getpid();
	session.facts.path.pid = session.pid;
	session.lineage.owner = false;
	session.lineage.sequence = 0;
	if (!session.config.follow) {
		leave_child_alone();
		return;
	}
	if (!session.running)
		return;
	/* The parent's data may be half changed by a thread that isn't here: it is left where it
	 * is (its pages are shared with the parent until written), not released. */
	if (name_run() < 0)
		session.run.path[0] = '\0';
	cp_run_begin(&session.run);
	plan_checkpoint();
	cp_cpu_fork_child(cp_self.thread);
}

void cp_session_thread_created(void)
{
	/* A fork child starts without a collector; with a second thread it gets one. */
	if (cp_session_is_ours() && !cp_collect_alive())
		cp_collect_start();
}

/* ---- statistics ---- */

static void stats_locked(void *arg)
{
	struct cprof_stats *s = arg;
	const struct cp_run *r = session.running ? &session.run : &session.last_counters;

	s->samples = cp_run_counted(r, CP_COUNT_SAMPLES);
	s->expiries = cp_run_counted(r, CP_COUNT_EXPIRIES);
	s->lost_ring = cp_run_counted(r, CP_COUNT_LOST_RING);
	s->lost_memory = cp_run_counted(r, CP_COUNT_LOST_MEMORY) +
			 cp_run_counted(r, CP_COUNT_LOST_AGGREGATE);
	s->lost_thread = cp_run_counted(r, CP_COUNT_LOST_THREAD);
	s->lost_paused = cp_run_counted(r, CP_COUNT_LOST_PAUSED);
	s->truncated = cp_run_counted(r, CP_COUNT_TRUNCATED);
	s->incomplete = cp_run_counted(r, CP_COUNT_INCOMPLETE);
	s->period_ns = cp_cpu.period_ns;
	s->handler_ns = cp_run_counted(r, CP_COUNT_EVENT_NS);
	s->dumps = cp_run_counted(r, CP_COUNT_DUMPS);
	s->dump_failures = cp_run_counted(r, CP_COUNT_DUMP_FAILURES);
}

void cp_session_stats(struct cprof_stats *s)
{
	if (cp_collect_init(&work) == 0)
		cp_collect_run(stats_locked, s);
}
