/* The time in which samples are taken; see window.h. */
#include "window.h"

#include <errno.h>
#include <time.h>

#include "collect.h"
#include "cpu.h"
#include "cprof.h"
#include "dump.h"
#include "log.h"
#include "path.h"
#include "session_state.h"
#include "sigsafe/atomic.h"
#include "sigsafe/text.h"
#include "signals.h"

struct cp_session cp_session;

static void plan_checkpoint(void)
{
	uint64_t every = cp_session.config.checkpoint_ns;

	cp_session.next_checkpoint = every ? cp_run_clock(CLOCK_MONOTONIC) + every : UINT64_MAX;
}

/* The run's name: the configured path, and in toggle mode a number for each window, as
 * gperftools does it. */
static int name_run(void)
{
	char template[CP_PATH_MAX];

	if (cp_session.config.toggle_signal)
		cp_format(template, sizeof(template), "%s.%u", cp_session.config.cpu_path,
			  cp_session.windows++);
	else
		cp_format(template, sizeof(template), "%s", cp_session.config.cpu_path);
	cp_session.run.owner = cp_session.lineage.owner && !cp_session.config.use_pid;
	cp_session.run.sequence = cp_session.lineage.sequence;
	cp_session.run.claimed = false;
	return cp_path_expand(cp_session.run.path, sizeof(cp_session.run.path), template,
			      cp_session.lineage.base, &cp_session.facts.path,
			      &cp_session.run.unique);
}

static int begin_run(void)
{
	int err = name_run();

	if (err < 0)
		return err;
	cp_run_begin(&cp_session.run);
	/* What rings still hold from an earlier run is not this one's. */
	cp_collect_drain(NULL);
	err = cp_cpu_start(cp_session.config.cpu_frequency,
			   cp_session.config.engine == CP_ENGINE_ITIMER);
	if (err < 0) {
		cp_run_release(&cp_session.run);
		return err;
	}
	cp_session.running = true;
	plan_checkpoint();
	return 0;
}

static int end_run(const char *when)
{
	int err;

	if (!cp_session.running)
		return 0;
	cp_cpu_stop();
	err = cp_dump_final(&cp_session.run, &cp_session.config, when);
	cp_session.running = false;
	cp_session.next_checkpoint = UINT64_MAX;
	cp_session.last_counters = cp_session.run;
	cp_run_release(&cp_session.run);
	return err;
}

static void say_toggled(void)
{
	if (cp_session.config.verbose)
		cp_log("CPU profiling is %s", cp_session.running ? "on" : "off");
}

static void serve(uint32_t requests)
{
	/* As often as the signal came: two of them between two looks are a window, if a short one.
	 */
	for (unsigned n = requests & CP_REQUEST_TOGGLE ? cp_signals_toggles() : 0; n > 0; n--) {
		if (cp_session.running)
			end_run("when toggled off");
		else
			begin_run();
		say_toggled();
	}
	if (!cp_session.running)
		return;
	cp_run_work_begin(&cp_session.run);
	cp_collect_drain(&cp_session.run);
	if (requests & CP_REQUEST_DUMP)
		cp_dump_numbered(&cp_session.run, &cp_session.config);
	if (cp_run_clock(CLOCK_MONOTONIC) >= cp_session.next_checkpoint) {
		cp_dump_final(&cp_session.run, &cp_session.config, "at a checkpoint");
		plan_checkpoint();
	}
	cp_run_work_end(&cp_session.run);
}

static uint64_t due(void)
{
	return cp_load_relaxed(&cp_session.next_checkpoint);
}

const struct cp_collect_work cp_window_work = { serve, due };

void cp_window_begin(void *arg)
{
	struct cp_window_call *c = arg;

	c->result = cp_session.config.toggle_signal ? 0 : begin_run();
}

void cp_window_end(void *arg)
{
	struct cp_window_call *c = arg;

	c->result = end_run(c->when);
}

void cp_window_write(void *arg)
{
	struct cp_window_call *c = arg;

	if (!cp_session.running)
		return;
	cp_run_work_begin(&cp_session.run);
	c->result = cp_dump_final(&cp_session.run, &cp_session.config, c->when);
	cp_run_work_end(&cp_session.run);
}

void cp_window_dump(void *arg)
{
	struct cp_window_call *c = arg;

	if (!cp_session.running) {
		c->result = -ESRCH;
		return;
	}
	cp_run_work_begin(&cp_session.run);
	if (c->path)
		c->result = cp_dump_to_path(&cp_session.run, &cp_session.config, c->path);
	else if (c->sink)
		c->result = cp_dump_to_sink(&cp_session.run, &cp_session.config, c->sink);
	else
		c->result = cp_dump_numbered(&cp_session.run, &cp_session.config);
	cp_run_work_end(&cp_session.run);
}

void cp_window_drain(void *arg)
{
	if (!cp_session.running)
		return;
	cp_run_work_begin(&cp_session.run);
	cp_collect_drain(&cp_session.run);
	cp_run_work_end(&cp_session.run);
}

int cp_window_fork_child(void)
{
	int err = name_run();

	/* The parent's data may be half changed by a thread that isn't here: it is left where it
	 * is (its pages are shared with the parent until written), not released. */
	cp_run_begin(&cp_session.run);
	plan_checkpoint();
	return err;
}

void cp_window_stats(void *arg)
{
	struct cprof_stats *s = arg;
	const struct cp_run *r = cp_session.running ? &cp_session.run : &cp_session.last_counters;

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
	s->handler_ns = cp_run_handler_ns(r);
	s->dumps = cp_run_counted(r, CP_COUNT_DUMPS);
	s->dump_failures = cp_run_counted(r, CP_COUNT_DUMP_FAILURES);
}
