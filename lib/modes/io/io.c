/* SPDX-License-Identifier: BSD-3-Clause */
/* Input and output: the control half of the mode, and its entry in the table of modes. The event
 * half is lib/modes/io/signal/io_event.c; the interposed functions are in lib/modes/io/hooks/.
 */
#include "base/start_data.h"
#include "collect/collect.h"
#include "host/real.h"
#include "modes/io/io.h"
#include "modes/io/signal/io_signal.h"
#include "settings/config_rows.h"

#define L(x) ((unsigned long)(x))

/* Ticks per second until the rate is known. It affects how many stacks are taken, but not their
 * weights. */
#ifdef __aarch64__
#define FIRST_SECOND UINT64_C(1000000000)
#else
#define FIRST_SECOND UINT64_C(2500000000)
#endif

static void prepare_io(const struct cp_config *c)
{
	cp_io_state.register_thread = cp_threads_register_foreign;
	cp_real_prepare_clock();
}

/* Set the clock and its rate, as far as it is known. */
static void set_clock(void)
{
	uint64_t ms = cp_load_relaxed(&cp_lock_clock.ms);

	cp_io_state.by_clock = !cp_tick_rate_is_constant() || cp_load_relaxed(&cp_ticks_forbidden);
	cp_io_state.rates.second = cp_io_state.by_clock ? UINT64_C(1000000000)
				   : ms			? ms * 1000
							: FIRST_SECOND;
	cp_io_state.since_ns = cp_sys_clock_ns(CLOCK_MONOTONIC);
	cp_io_state.since = cp_io_event_now();
}

static int start_io(struct cp_run *r, const struct cp_config *c)
{
	const struct cp_io_settings *s = cp_config_of(c, CPROF_IO);
	int err = cp_io_counts_prepare();

	if (err)
		return err;
	cp_io_counts_forget();
	cp_io_rows_start();
	set_clock();
	cp_io_state.rates.budget = CP_IO_BUDGET;
	cp_io_state.target = s->target;
	/* In a later run, descriptors may have changed while the mode was off. */
	if (cp_load_relaxed(&cp_io_owner))
		cp_io_kind_closed_all(0, CP_IO_KNOWN - 1);
	cp_store_relaxed(&cp_io_owner, cp_sys_getpid());
	cp_or_seqcst(&cp_io_active, CP_IO_ON | (cp_io_state.by_clock ? CP_IO_BY_CLOCK : 0u));
	return 0;
}

static void stop_io(struct cp_run *r)
{
	cp_and_seqcst(&cp_io_active, ~(uint32_t)(CP_IO_ON | CP_IO_BY_CLOCK));
}

static void fork_child(struct cp_run *r, struct cp_thread *keep)
{
	if (!keep)
		cp_and_seqcst(&cp_io_active, ~(uint32_t)(CP_IO_ON | CP_IO_BY_CLOCK));
	cp_io_counts_fork_child(
		keep ? &((struct cp_io_thread *)cp_thread_part(keep, &cp_io_thread_part))->block
		     : NULL);
	cp_store_relaxed(&cp_io_owner, cp_sys_getpid());
	cp_io_rows_fork_child();
}

static void io_stats(const struct cp_run *r, struct cprof_stats *s)
{
	s->expiries = cp_io_rows_ns(r, s->expiries);
	s->lost_ring = cp_io_rows_ns(r, s->lost_ring);
	s->lost_memory = cp_io_rows_ns(r, s->lost_memory);
	s->handler_ns = cp_run_hooks_ns(r, s->samples);
}

/* Return a count of ticks of R's mode in seconds. */
static const char *lost(const struct cp_run *r, enum cp_count what)
{
	return cp_comments_seconds(cp_io_rows_ns(r, cp_run_counted(r, what)));
}

static void report_io(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c)
{
	cp_comments_line(out,
			 "calls: %lu stacks taken; stacks lost: %s s of delay ring full, %s s no "
			 "memory, %s s collector limit; %lu calls in paused threads",
			 L(cp_run_counted(r, CP_COUNT_SAMPLES)), lost(r, CP_COUNT_LOST_RING),
			 lost(r, CP_COUNT_LOST_MEMORY), lost(r, CP_COUNT_LOST_AGGREGATE),
			 L(cp_run_counted(r, CP_COUNT_LOST_PAUSED)));
	cp_io_rows_report(out, r);
	if (r->rows->aggregate.modules->uring)
		cp_comments_line(out, "io: the program uses io_uring; what it reads and writes "
				      "that way is not in this profile");
	cp_comments_line(
		out, "cost: about %s ms of wall time for stacks behind calls",
		cp_comments_seconds(cp_run_hooks_ns(r, cp_run_counted(r, CP_COUNT_TIMED)) * 1000));
}

CP_THREAD_LABEL(cp_io_label);

/* The interposed functions whose names say no more than the label op; see drop_frames in
 * output.h. */
#define READS "p?read(v|v2|64|64v2?)?|preadv(64|2|64v2)|recv(from|msg|mmsg)?"
#define WRITES "p?write(v|v2|64|64v2?)?|pwritev(64|2|64v2)|send(to|msg|mmsg)?"
#define OTHERS                                                                                     \
	"open(at)?(64)?|creat(64)?|close|f(data)?sync|sync_file_range|connect|accept4?|"           \
	"p?poll|p?select|epoll_p?wait2?|copy_file_range|sendfile(64)?|splice|tee|vmsplice|"        \
	"fopen(64)?|fclose|opendir|closedir|readdir(64)?|getdents64|rename(at|at2)?|unlink(at)?|[" \
	"fl]?stat(at)?(64)?|fstatat(64)?|"                                                         \
	"statx|__[fl]?xstat(at)?(64)?|__fxstatat(64)?|getaddrinfo"

const struct cp_mode_ops cp_mode_io = {
	.name = "io",
	.parent = CPROF_IO,
	.settings = &cp_io_settings,
	.types = { { "calls", "count" },
		   { "delay", "nanoseconds" },
		   { "bytes", "bytes" },
		   { "errors", "count" } },
	.type_count = 4,
	.default_type = 2,
	.period_type = { "calls", "count" },
	.drop_frames = READS "|" WRITES "|" OTHERS,
	.labels = cp_io_rows_labels,
	.report = report_io,
	.count = cp_io_rows_count,
	.prepare = prepare_io,
	.start = start_io,
	.stop = stop_io,
	.totals = cp_io_rows_tell,
	.settle = cp_io_rows_settle,
	.rows = cp_io_rows_see,
	.thread_released = cp_io_rows_released,
	.stats = io_stats,
	.thread_label = &cp_io_label,
	.record = cp_io_rows_record,
	.fork_child = fork_child,
};

/* Who ended the reads of pipes and eventfds: the control half of this companion of the I/O mode,
 * and the contents and comments of its file. The event half is lib/sample/wakes.c and
 * lib/modes/io/signal/io_wake.c.
 *
 * It is on only if asked for: nobody knows before a read whether it will wait, so each read of a
 * pipe is followed, which costs several times as much as the mode itself. */

static bool wakers_wanted(const struct cp_config *c)
{
	const struct cp_io_settings *s = cp_config_of(c, CPROF_IO);

	return s->wakers;
}

static int start_wakers(struct cp_run *r, const struct cp_config *c)
{
	cp_wakers_start(CP_WAKES_OF_IO,
			(struct cp_wakes_settings){ .threshold_ns = CP_IO_WAKE_NS_MIN,
						    .budget = CP_IO_BUDGET });
	return 0;
}

static void stop_wakers(struct cp_run *r)
{
	cp_wakers_stop(CP_WAKES_OF_IO);
}

static void wakers_drained(struct cp_run *r)
{
	cp_waiters_recount();
}

static void wakers_labels(const struct cp_run *r, const struct cp_stack *s,
			  struct cp_encode_labels *to)
{
	to->labels[to->count++] =
		(struct cp_pprof_label){ .key = "kind",
					 .text = cp_filestat_kind_name((unsigned)s->tag) };
}

static void thread_end(struct cp_thread *t)
{
	cp_waiters_close(t);
}

static void wakers_fork_child(struct cp_run *r, struct cp_thread *keep)
{
	cp_wakers_fork_child(CP_WAKES_OF_IO, keep);
}

static void report_wakers(struct cp_comments *out, const struct cp_run *r,
			  const struct cp_config *c)
{
	cp_wakers_report(out, r, "reads", "were interrupted", "behind reads and writes");
}

CP_THREAD_LABEL(cp_io_wakers_label);

const struct cp_mode_ops cp_mode_io_wakers = {
	.name = "io_wakers",
	.suffix = "wakers",
	.parent = CPROF_IO,
	.types = { { "waits", "count" }, { "delay", "nanoseconds" } },
	.type_count = 2,
	.period_type = { "wakes", "count" },
	.waits = true,
	.drop_frames = "writev?|close",
	.labels = wakers_labels,
	.report = report_wakers,
	.count = cp_wakers_count,
	.wanted = wakers_wanted,
	.start = start_wakers,
	.stop = stop_wakers,
	.drained = wakers_drained,
	.thread_label = &cp_io_wakers_label,
	.thread_end = thread_end,
	.fork_child = wakers_fork_child,
};

/* Resolves the originals of the I/O mode's hooks. */

struct cp_io_real cp_io_real CP_START_DATA;

#define WANTED(minor, type, name, parameters)                                                      \
	{ .at = offsetof(struct cp_io_real, name), .since = minor },
static const struct cp_real_wanted wanted[] = { CP_IO_REAL_FUNCTIONS(WANTED) };
#define NAME(minor, type, name, parameters) #name "\0"
static const char wanted_names[] = CP_IO_REAL_FUNCTIONS(NAME);

int cp_io_real_resolve(void)
{
	int missing =
		cp_real_find(&cp_io_real, wanted, sizeof(wanted) / sizeof(*wanted), wanted_names);

	/* From now on a call with the mode off is one comparison and a jump. */
	cp_and_seqcst(&cp_io_active, ~(uint32_t)CP_IO_EARLY);
	return missing;
}

#define CP_CONFIG_IN struct cp_io_settings
CP_CONFIG_FITS(struct cp_io_settings);

/* clang-format off */
static const struct cp_config_row rows[] = {
	CHOICE("CPROF_IO_TARGET", target, "none", "none", "last", "full"),
	SWITCH("CPROF_IO_WAKERS", wakers, "0"),
};
/* clang-format on */

const struct cp_config_mode cp_io_settings = {
	.variable = "IOPROFILE",
	.path_option = offsetof(struct cprof_options, io_path),
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
};
