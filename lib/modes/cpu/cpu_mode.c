/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU time as a mode: the contents and comments of its file. The engines are in cpu.c. */
#include "collect/collect.h"
#include "modes/cpu/cpu.h"
#include "modes/cpu/signal/cpu_signal.h"
#include "unwind/unwind.h"
#include "settings/config_rows.h"

#define L(x) ((unsigned long)(x))

static uint64_t cpu_period(const struct cp_run *r)
{
	const struct cp_aggregate *a = &r->aggregate;

	return a->records ? a->weight / a->records : cp_cpu.period_ns;
}

static void losses(struct cp_comments *out, const struct cp_run *r)
{
	cp_comments_line(
		out,
		"samples: %lu taken for %lu expiries; lost expiries: %lu ring full, %lu no memory, "
		"%lu unknown thread, %lu collector limit; %lu in paused threads",
		L(cp_run_counted(r, CP_COUNT_SAMPLES)), L(cp_run_counted(r, CP_COUNT_EXPIRIES)),
		L(cp_run_counted(r, CP_COUNT_LOST_RING)),
		L(cp_run_counted(r, CP_COUNT_LOST_MEMORY)),
		L(cp_run_counted(r, CP_COUNT_LOST_THREAD)),
		L(cp_run_counted(r, CP_COUNT_LOST_AGGREGATE)),
		L(cp_run_counted(r, CP_COUNT_LOST_PAUSED)));
	if (cp_run_counted(r, CP_COUNT_MISSED))
		cp_comments_line(
			out,
			"last ticks: %lu expiries after a thread's last kernel tick, counted in "
			"the first ticks of others or given to its last stack; %lu of them are in "
			"[not sampled]",
			L(cp_run_counted(r, CP_COUNT_MISSED)),
			L(cp_run_counted(r, CP_COUNT_NOT_SAMPLED)));
}

static void times(struct cp_comments *out, const struct cp_run *r)
{
	uint64_t total = cp_run_cpu_ns(r);
	uint64_t own = cp_run_own_cpu(r), program = total > own ? total - own : 0;
	uint64_t sampled = r->aggregate.weight;
	uint64_t handlers = cp_run_handler_ns(r);

	cp_comments_line(out, "cpu time: %s s used by the program, %s s in samples, %s s unsampled",
			 cp_comments_seconds(program), cp_comments_seconds(sampled),
			 cp_comments_seconds(program > sampled ? program - sampled : 0));
	if (!handlers && cp_load_relaxed(&cp_ticks_forbidden))
		cp_comments_line(out, "cost: not known: the program forbids itself the processor's "
				      "counter, by which handlers are timed");
	else
		cp_comments_line(out,
				 "cost: about %s ms of wall time in handlers (%s %% of the "
				 "program's CPU time)",
				 cp_comments_seconds(handlers * 1000),
				 cp_comments_percent(handlers, program));
}

static void report_cpu(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c)
{
	cp_comments_line(out, "cpu: frequency %u Hz, period %lu ns, engine %s; %s",
			 cp_cpu.frequency, L(cp_cpu.period_ns), cp_cpu_engine_name(), cp_cpu.why);
	if (cp_cpu.engine != CP_ENGINE_PERF)
		cp_comments_line(out,
				 "cpu: looked at each %lu us, the kernel's tick: what always fits "
				 "between two ticks has too few samples or none; "
				 "CPROF_CPU_ENGINE=perf sees it, and the kernel's frames",
				 L(cp_thread_timer_tick_ns() / 1000));
	losses(out, r);
	cp_comments_line(
		out,
		"threads: %lu given a clock (%lu a perf event, %lu a timer in its place), %lu "
		"without one, %lu found outside pthread_create",
		L(cp_run_counted(r, CP_COUNT_THREADS)), L(cp_run_counted(r, CP_COUNT_EVENTS)),
		L(cp_run_counted(r, CP_COUNT_EVENT_FAILURES)),
		L(cp_run_counted(r, CP_COUNT_TIMER_FAILURES)),
		L(cp_run_counted(r, CP_COUNT_FOREIGN_THREADS)));
	times(out, r);
	cp_threads_blocking_note(out);
	if (cp_cpu.engine != CP_ENGINE_PERF)
		cp_thread_timer_bursts_note(out, r, "CPROF_CPU_ENGINE=perf doesn't need the tick");
}

/* A record's count is its period (cpu_signal.h). Rows have ns, so that records of several periods
 * add up. */
static void convert(struct cp_record *record)
{
	record->weight *= record->count;
	record->count = 1;
}

/* EXPIRIES without a stack are at the start function of their thread, below a frame that says so,
 * or only at that frame if START is 0. */
static void add_not_sampled(struct cp_run *r, uint64_t start, uint64_t expiries)
{
	union {
		struct cp_record record;
		uint64_t words[sizeof(struct cp_record) / sizeof(uint64_t) + 2];
	} at = { { .depth = start ? 2 : 1, .end = CP_UNWIND_COMPLETE, .count = 1 } };

	at.record.pcs[0] = CP_PC_NOT_SAMPLED;
	at.record.pcs[1] = start;
	at.record.weight = expiries * cp_cpu.period_ns;
	cp_modules_want(r->aggregate.modules);
	cp_aggregate_add(&r->aggregate, &at.record, CP_NO_THREAD);
	cp_count(CP_COUNT_NOT_SAMPLED, expiries);
}

/* What the kernel's last tick of a live thread didn't count is its last stack's. */
static void settle_live(struct cp_run *r, struct cp_thread *t)
{
	uint64_t expiries = cp_cpu_take_owed(t);

	if (expiries && !cp_drain_again(r, t, expiries, cp_cpu.period_ns) && t->start)
		add_not_sampled(r, (uint64_t)(uintptr_t)t->start, expiries);
}

static void settle_cpu(struct cp_run *r)
{
	uint64_t start, expiries;

	cp_cpu_settle(cp_run_cpu_ns(r) - cp_run_own_cpu(r));
	for (uint32_t i = 0; i < cp_thread_limit(); i++)
		if (cp_load_acquire(&cp_thread_at(i)->state) == CP_THREAD_LIVE)
			settle_live(r, cp_thread_at(i));
	/* What ended threads have missed, and no other could count. */
	while ((expiries = cp_cpu_edges_take_left(&start)))
		add_not_sampled(r, start, expiries);
}

static int start_cpu(struct cp_run *r, const struct cp_config *c)
{
	const struct cp_cpu_settings *s = cp_config_of(c, CPROF_CPU);

	return cp_cpu_start(s->frequency, s->engine);
}

static int set_cpu(struct cp_run *r, const struct cp_config *c)
{
	const struct cp_cpu_settings *s = cp_config_of(c, CPROF_CPU);

	cp_cpu_set_frequency(s->frequency);
	return 0;
}

static void stop_cpu(struct cp_run *r)
{
	cp_cpu_stop();
}

static void started_verbose(void)
{
	cp_log("cpu engine: %s; %s", cp_cpu_engine_name(), cp_cpu.why);
}

static void cpu_stats(const struct cp_run *r, struct cprof_stats *s)
{
	s->period = cp_cpu.period_ns;
	s->handler_ns = cp_run_handler_ns(r);
}

static bool is_unloaded(uint64_t start)
{
	struct cp_loaded_object o;

	return !cp_loaded_at((const void *)(uintptr_t)start, &o);
}

/* A start function may be gone, with its module. */
static void unloaded(struct cp_module_diff *u)
{
	cp_cpu_edges_forget(is_unloaded);
}

static void fork_child(struct cp_run *r, struct cp_thread *keep)
{
	cp_cpu_edges_reset();
	cp_cpu_fork_child(keep);
	if (!keep)
		cp_cpu_stop();
}

CP_THREAD_LABEL(cp_cpu_mode_label);

const struct cp_mode_ops cp_mode_cpu = {
	.name = "cpu",
	.parent = CPROF_CPU,
	.settings = &cp_cpu_settings,
	.types = { { "samples", "count" }, { "cpu", "nanoseconds" } },
	.type_count = 2,
	.period_type = { "cpu", "nanoseconds" },
	.period = cpu_period,
	.report = report_cpu,
	.started_verbose = started_verbose,
	.by_sigprof = true,
	.start = start_cpu,
	.stop = stop_cpu,
	.set = set_cpu,
	.settle = settle_cpu,
	.unloaded = unloaded,
	.stats = cpu_stats,
	.convert = convert,
	.thread_label = &cp_cpu_mode_label,
	.thread_begin = cp_cpu_thread_begin,
	.thread_end = cp_cpu_thread_end,
	.fork_begin = cp_cpu_timer_fork_begin,
	.fork_locks = cp_cpu_fork_locks,
	.fork_child = fork_child,
	.suspend = cp_cpu_suspend,
	.resume = cp_cpu_resume,
};

#define CP_CONFIG_IN struct cp_cpu_settings
CP_CONFIG_FITS(struct cp_cpu_settings);

/* clang-format off */
static const struct cp_config_row rows[] = {
	NUMBER("CPUPROFILE_FREQUENCY", frequency, "99", 1, 10000, "samples per CPU second", OPTION(frequency), LIVE),
	CHOICE("CPROF_CPU_ENGINE", engine, "auto", "auto", "timer", "perf"),
};
/* clang-format on */

/* The profiler always has one timer per thread, so CPUPROFILE_PER_THREAD_TIMERS is ignored
 * silently. */
static void check_timer_signal(const struct cp_config_reader *r, struct cp_config *c)
{
	static const char *const prof[] = { "PROF", "SIGPROF", "27" };
	const char *value = cp_config_reader_get(r, "CPUPROFILE_TIMER_SIGNAL");
	unsigned ignored;

	if (value && cp_config_values_choice(value, prof, 3, &ignored))
		cp_config_reader_say(r, "CPUPROFILE_TIMER_SIGNAL", value, "PROF or 27", "PROF");
}

const struct cp_config_mode cp_cpu_settings = {
	.variable = "CPUPROFILE",
	.path_option = offsetof(struct cprof_options, cpu_path),
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.read = check_timer_signal,
};
