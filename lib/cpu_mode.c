/* CPU time as a mode: what its file holds and says; the engines are cpu.c's. */
#include <time.h>

#include "cpu.h"
#include "mode.h"
#include "sigsafe/capture.h"
#include "sigsafe/cpu_event.h"
#include "sigsafe/sys.h"
#include "thread_timer.h"

#define L(x) ((unsigned long)(x))

static uint64_t unit(void)
{
	return cp_cpu.period_ns;
}

static uint64_t period(const struct cp_run *r)
{
	const struct cp_aggregate *a = &r->aggregate;

	return a->records ? a->weight * cp_cpu.period_ns / a->records : cp_cpu.period_ns;
}

static void losses(struct cp_report *out, const struct cp_run *r)
{
	cp_report_line(
		out,
		"samples: %lu taken for %lu expiries; lost expiries: %lu ring full, %lu no memory, "
		"%lu unknown thread, %lu collector limit; %lu in paused threads",
		L(cp_run_counted(r, CP_COUNT_SAMPLES)), L(cp_run_counted(r, CP_COUNT_EXPIRIES)),
		L(cp_run_counted(r, CP_COUNT_LOST_RING)),
		L(cp_run_counted(r, CP_COUNT_LOST_MEMORY)),
		L(cp_run_counted(r, CP_COUNT_LOST_THREAD)),
		L(cp_run_counted(r, CP_COUNT_LOST_AGGREGATE)),
		L(cp_run_counted(r, CP_COUNT_LOST_PAUSED)));
	if (cp_run_counted(r, CP_COUNT_TAILS))
		cp_report_line(out,
			       "thread ends: %lu expiries after a thread's last kernel tick, given "
			       "to its last stack",
			       L(cp_run_counted(r, CP_COUNT_TAILS)));
}

static void times(struct cp_report *out, const struct cp_run *r)
{
	uint64_t total = cp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - r->start_cpu_ns;
	uint64_t own = cp_run_own_cpu(r), program = total > own ? total - own : 0;
	uint64_t sampled = r->aggregate.weight * cp_cpu.period_ns;
	uint64_t handlers = cp_run_handler_ns(r);

	cp_report_line(out, "cpu time: %s s used by the program, %s s in samples, %s s unsampled",
		       cp_report_seconds(program), cp_report_seconds(sampled),
		       cp_report_seconds(program > sampled ? program - sampled : 0));
	cp_report_line(out, "cost: about %s ms in handlers (%s %% of the program's CPU time)",
		       cp_report_seconds(handlers * 1000), cp_report_percent(handlers, program));
}

static void report(struct cp_report *out, const struct cp_run *r, const struct cp_config *c)
{
	(void)c;
	cp_report_line(out, "cpu: frequency %u Hz, period %lu ns, engine %s; %s", cp_cpu.frequency,
		       L(cp_cpu.period_ns), cp_cpu_engine_name(), cp_cpu.why);
	if (cp_cpu.engine != CP_ENGINE_PERF)
		cp_report_line(out,
			       "cpu: looked at each %lu us, the kernel's tick: what always fits "
			       "between two ticks has too few samples or none; "
			       "CPROF_CPU_ENGINE=perf sees it, and the kernel's frames",
			       L(cp_thread_timer_tick_ns() / 1000));
	losses(out, r);
	cp_report_line(
		out,
		"threads: %lu given a clock (%lu a perf event, %lu a timer in its place), %lu "
		"without one, %lu found outside pthread_create",
		L(cp_run_counted(r, CP_COUNT_THREADS)), L(cp_run_counted(r, CP_COUNT_EVENTS)),
		L(cp_run_counted(r, CP_COUNT_EVENT_FAILURES)),
		L(cp_run_counted(r, CP_COUNT_TIMER_FAILURES)),
		L(cp_run_counted(r, CP_COUNT_FOREIGN_THREADS)));
	times(out, r);
}

static int start(struct cp_run *r, const struct cp_config *c)
{
	(void)r;
	return cp_cpu_start(c->cpu_frequency, c->engine);
}

static void stop(struct cp_run *r)
{
	(void)r;
	cp_cpu_stop();
}

static void fork_child(struct cp_run *r, struct cp_thread *keep)
{
	(void)r;
	cp_cpu_fork_child(keep);
	if (!keep)
		cp_cpu_stop();
}

const struct cp_mode_ops cp_mode_cpu = {
	.name = "cpu",
	.parent = CP_MODE_CPU,
	.types = { { "samples", "count" }, { "cpu", "nanoseconds" } },
	.type_count = 2,
	.period_type = { "cpu", "nanoseconds" },
	.unit = unit,
	.period = period,
	.report = report,
	.start = start,
	.stop = stop,
	.thread_begin = cp_cpu_thread_begin,
	.thread_end = cp_cpu_thread_end,
	.fork_child = fork_child,
	.exec_begin = cp_cpu_exec_begin,
	.exec_failed = cp_cpu_exec_failed,
};
