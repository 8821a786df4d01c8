/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap mode's control half; see heap.h. */
#include "modes/heap/heap.h"

#include <errno.h>
#include <sys/resource.h>

#include "modes/heap/allocator.h"
#include "collect/collect.h"
#include "host/host.h"
#include "modes/heap/signal/heap_exact.h"
#include "base/text.h"
#include "unwind/unwind.h"

/* Initial slots of the live table. When every allocation is sampled, many blocks will follow: each
 * generation before the newest is another place where a block may be. Only pages with blocks take
 * memory. */
#define SLOTS_SAMPLED ((size_t)1 << 12)
#define SLOTS_EXACT ((size_t)1 << 21)
/* Used if the program's memory is limited, because the whole table counts against the limit. */
#define SLOTS_EXACT_LIMITED ((size_t)1 << 16)

static uint64_t time_step, next_time; /* a dump by time; UINT64_MAX = never */

struct cp_module_diff *cp_heap_before_unload(void)
{
	return cp_heap_hot.state == CP_HEAP_ON ? cp_module_diff_before() : NULL;
}

/* Retiring all entries at each dlclose would be expensive: every stack that occurs again would be
 * stored again. */
void cp_heap_after_unload(struct cp_module_diff *u)
{
	if (!cp_module_diff_each(u, cp_stack_depot_retire))
		cp_stack_depot_next_epoch();
}

static int pid; /* pid of the process that this heap belongs to */

/* Write the dump on the thread that allocates or frees, which waits. On the collector, a program
 * that is faster than the collector would get several dumps merged into one, each too late. The
 * child of a vfork shares our memory, and may be killed while it holds the lock: it doesn't dump.
 */
static void dump_now(void)
{
	if (cp_sys_getpid() == pid && !cp_fork_mark_is_gone())
		cp_collect_serve_now(CP_REQUEST_DUMP_OF(CPROF_HEAP));
}

/* Stacks are drained as they come, so that a dump of very many stacks needn't wait for a drain. The
 * thread that is in malloc doesn't drain. */
static void ask_for_drain(void)
{
	if (cp_collect_alive())
		cp_collect_request(CP_REQUEST_DRAIN);
}

static void set_step(uint64_t *next, uint64_t *step, uint64_t bytes)
{
	*step = bytes ? bytes : 1;
	*next = bytes ? bytes : UINT64_MAX;
}

static void begin_totals(const struct cp_heap_settings *s)
{
	struct cp_heap_totals *t = &cp_heap_totals;

	if (cp_sys3(SYS_getrandom, &t->seed, sizeof(t->seed), 1 /* GRND_NONBLOCK */) < 0)
		t->seed = cp_sys_clock_ns(CLOCK_MONOTONIC);
	t->interval = s->interval;
	t->lifetimes = cp_heap_shows(s, CP_HEAP_VIEW_LIFETIMES);
	t->allocated = t->freed = t->peak = 0;
	set_step(&t->next_allocated, &t->allocated_step, s->allocated);
	set_step(&t->next_freed, &t->freed_step, s->freed);
	set_step(&t->next_in_use, &t->in_use_step, s->in_use);
	t->dump = s->allocated || s->freed || s->in_use ? dump_now : NULL;
	time_step = s->time_ns;
	next_time = time_step ? cp_sys_clock_ns(CLOCK_MONOTONIC) + time_step : UINT64_MAX;
}

static void begin_counting(void)
{
	/* Counts of an earlier run, or of a fork's parent, are in older epochs. */
	cp_stack_depot_next_epoch();
	cp_store_relaxed(&cp_heap_totals.first_epoch, cp_stack_depot_epoch());
	cp_stack_depot_mark_peak();
}

static void keep_births(bool keep)
{
	cp_store_relaxed(&cp_heap_totals.births, keep);
	cp_live_keep_births(keep);
}

static bool is_limited(int resource)
{
	struct rlimit limit;

	return cp_sys4(SYS_prlimit64, 0, resource, NULL, &limit) == 0 &&
	       limit.rlim_cur != RLIM_INFINITY;
}

static void switch_on(uint64_t interval)
{
	/* jemalloc's functions need a thread that libc knows. */
	if (cp_sys_gettid() != cp_worker_tid())
		cp_jemalloc_hooks_start();
	cp_live_configure(interval >= CP_HEAP_FILTER_INTERVAL		     ? SLOTS_SAMPLED
			  : is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA) ? SLOTS_EXACT_LIMITED
									     : SLOTS_EXACT);
	keep_births(interval != 1 || cp_heap_totals.lifetimes);
	cp_heap_hot_look(interval < CP_HEAP_FILTER_INTERVAL ? CP_HEAP_LOOK_ALL
							    : CP_HEAP_LOOK_FILTER);
	cp_store_seqcst(&cp_heap_hot.state, CP_HEAP_ON);
	cp_store_seqcst(&cp_heap_hot.counts, interval > 1);
	cp_store_seqcst(&cp_heap_hot.all, interval <= 1);
}

static void switch_off(void)
{
	cp_store_seqcst(&cp_heap_hot.all, false);
	cp_store_seqcst(&cp_heap_hot.counts, false);
	cp_store_seqcst(&cp_heap_hot.state, CP_HEAP_OFF);
	/* Blocks of this run and of the runs before are in the filter until they are freed. */
	cp_heap_hot_look(CP_HEAP_LOOK_FILTER);
}

/* The interval of the settings. A budget changes the interval that is in force. */
static uint64_t asked;
static unsigned asked_budget;

static bool is_share(unsigned budget)
{
	return budget & CP_CONFIG_PERCENT;
}

static void begin_budget(const struct cp_heap_settings *s)
{
	uint64_t samples = cp_counted_mode(CPROF_HEAP, CP_COUNT_SAMPLES);
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);
	bool exact = s->interval <= 1;

	if (exact && s->budget)
		cp_log("CPROF_HEAP_BUDGET=%u%s is for samples: with CPROF_HEAP_INTERVAL=1 every "
		       "allocation is recorded",
		       s->budget & ~CP_CONFIG_PERCENT, is_share(s->budget) ? "%" : "");
	asked = s->interval;
	asked_budget = exact ? 0 : s->budget;
	if (is_share(asked_budget))
		cp_heap_budget_start_share(asked_budget & ~CP_CONFIG_PERCENT, s->interval, samples,
					   now, cp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	else
		cp_heap_budget_start(asked_budget, s->interval, samples, now);
}

int cp_heap_start(struct cp_run *r, const struct cp_config *c)
{
	const struct cp_heap_settings *s = cp_config_of(c, CPROF_HEAP);

	pid = cp_sys_getpid();
	cp_stack_depot_wake = ask_for_drain;
	begin_totals(s);
	cp_heap_views_start(cp_heap_shows(s, CP_HEAP_VIEW_RESIDENT));
	begin_counting();
	/* The caller's next sample was drawn in an earlier run, maybe with larger intervals, and
	 * would represent as many bytes. */
	cp_self.heap.interval = 0;
	cp_heap_hot_set_left(&cp_self.heap, 0);
	cp_heap_exact_leave();
	switch_on(s->interval);
	begin_budget(s);
	cp_heap_census_start(s, cp_heap_totals.seed);
	return 0;
}

/* Blocks that free looks up in the table stay there, so free goes on looking up all addresses. */
static void set_interval(uint64_t interval)
{
	if (interval < CP_HEAP_FILTER_INTERVAL)
		cp_heap_hot_look(CP_HEAP_LOOK_ALL);
	cp_store_seqcst(&cp_heap_totals.interval, interval);
	cp_heap_budget_see(interval);
	asked = interval;
}

static void set_budget(unsigned budget)
{
	uint64_t samples = cp_counted_mode(CPROF_HEAP, CP_COUNT_SAMPLES);
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);

	if (is_share(budget))
		cp_heap_budget_set_share(budget & ~CP_CONFIG_PERCENT, samples, now,
					 cp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	else
		cp_heap_budget_set(budget, samples, now);
	asked_budget = budget;
}

int cp_heap_set(struct cp_run *r, const struct cp_config *c)
{
	const struct cp_heap_settings *s = cp_config_of(c, CPROF_HEAP);
	bool exact = cp_heap_totals.interval == 1, other = s->budget != asked_budget;

	/* Every allocation is recorded, whatever the budget is. */
	if ((s->interval == 1) != exact || (exact && s->budget))
		return -EOPNOTSUPP;
	/* If only the budget changes, it begins with the interval that is in force. Without a
	 * budget the interval is that of the settings. */
	if (s->interval != asked || !other || !s->budget)
		set_interval(s->interval);
	if (other)
		set_budget(s->budget);
	return 0;
}

void cp_heap_stop(struct cp_run *r)
{
	cp_heap_census_stop();
	switch_off();
	cp_heap_budget.due_ns = UINT64_MAX;
	cp_jemalloc_hooks_stop();
}

void cp_heap_thread_end(struct cp_thread *t)
{
	if (cp_self.thread == t && cp_heap_hot.state == CP_HEAP_ON)
		cp_heap_event_flush();
}

/* Give a fork child its own random draws. Children that continued with their parent's draws would
 * all sample the same of what they do alike, and their errors would add up instead of averaging
 * out. No system call, because a seccomp filter may refuse it. */
static void draw_apart(void)
{
	struct cp_heap_totals *t = &cp_heap_totals;

	t->seed = cp_poisson_seed(t->seed ^ cp_ticks(), (uint64_t)cp_sys_getpid());
	cp_self.heap.random = cp_poisson_seed(t->seed, UINT64_MAX);
	cp_self.heap.interval = 0;
	cp_heap_hot_set_left(&cp_self.heap, 0);
}

static void begin_step(uint64_t *next, uint64_t step)
{
	if (*next != UINT64_MAX)
		*next = step;
}

/* The parent's dump limits count from the parent's allocations, of which the child has none. */
static void begin_childs_totals(void)
{
	struct cp_heap_totals *t = &cp_heap_totals;

	t->allocated = t->freed = t->peak = 0;
	begin_step(&t->next_allocated, t->allocated_step);
	begin_step(&t->next_freed, t->freed_step);
	begin_step(&t->next_in_use, t->in_use_step);
}

void cp_heap_fork_child(struct cp_run *r, struct cp_thread *keep)
{
	pid = cp_sys_getpid();
	cp_heap_event_forget();
	begin_childs_totals();
	draw_apart();
	if (time_step)
		next_time = cp_sys_clock_ns(CLOCK_MONOTONIC) + time_step;
	begin_counting();
	cp_stack_depot_fork_child();
	if (!keep) {
		cp_heap_census_stop();
		switch_off();
	}
}

uint64_t cp_heap_due(void)
{
	uint64_t time = cp_load_relaxed(&next_time),
		 budget = cp_load_relaxed(&cp_heap_budget.due_ns);

	return time < budget ? time : budget;
}

static void follow_budget(const struct cp_run *r, uint64_t now)
{
	uint64_t timed = cp_run_counted(r, CP_COUNT_TIMED);

	if (cp_heap_budget.percent)
		cp_heap_budget_pay(cp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID), timed,
				   cp_run_hooks_ns(r, timed), now);
	cp_store_seqcst(&cp_heap_totals.interval,
			cp_heap_budget_tick(cp_heap_totals.interval,
					    cp_counted_mode(CPROF_HEAP, CP_COUNT_SAMPLES), now));
}

void cp_heap_tick(struct cp_run *r)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);

	if (now >= cp_heap_budget.due_ns)
		follow_budget(r, now);
	if (now >= next_time) {
		next_time = now + time_step;
		cp_collect_request(CP_REQUEST_DUMP_OF(CPROF_HEAP));
	}
}

void cp_heap_prepare(void)
{
	cp_jemalloc_hooks_find();
}

static char unseen[200]; /* why libcprof doesn't see the program's allocations; "" = it does */

const char *cp_heap_unseen(void)
{
	return unseen[0] ? unseen : NULL;
}

static char in_front[200]; /* why libcprof may not see them; "" = it does */

static void say_unseen(const char *why)
{
	cp_text_format(unseen, sizeof(unseen), "%s", why);
	cp_log("allocations of this program can't be seen: %s", unseen);
}

/* Prints a message, because the requested profile can't be made. */
void cp_heap_check(void)
{
	const char *why = cp_jemalloc_hooks_unusable(), *other;

	unseen[0] = in_front[0] = '\0';
	if (cp_heap_hot.state != CP_HEAP_ON)
		return;
	if (why)
		say_unseen(why);
	/* A block that is not a sample of jemalloc's is not seen. */
	other = why || cp_jemalloc_hooks_interval() ? NULL : cp_allocator_in_front();
	if (other)
		cp_text_format(in_front, sizeof(in_front), "%s", other);
}

void cp_heap_check_seen(bool stacks)
{
	if (in_front[0] && !unseen[0] && !stacks && !cp_load_relaxed(&cp_heap_totals.threads))
		say_unseen(in_front);
}

/* Lists the stacks with the most memory in use. */

#define TOP 5
#define FRAMES 5 /* number of frames of a stack that are named */

#define L(x) ((unsigned long)(x))
#define NO_ROW UINT32_MAX

static const struct cp_heap_row *amount(const struct cp_run *r, uint32_t row)
{
	return cp_heap_views_row(&r->aggregate, row);
}

static void insert_leak(const struct cp_run *r, uint32_t *top, uint32_t row)
{
	for (unsigned i = 0; i < TOP; i++) {
		uint32_t lower = top[i];

		if (lower != NO_ROW && amount(r, lower)->all_bytes >= amount(r, row)->all_bytes)
			continue;
		top[i] = row;
		if (lower == NO_ROW)
			return;
		row = lower;
	}
}

static const char *name_of(const struct cp_run *r, uint32_t number)
{
	const struct cp_location *l =
		CP_VEC_AT(&r->aggregate.locations, struct cp_location, number);

	return l->function ? CP_VEC_AT(&r->names.functions, struct cp_function, l->function)->name
			   : "?";
}

static void describe_leak(const struct cp_run *r, const struct cp_stack *s, char *to, size_t size)
{
	size_t n = 0;

	to[0] = '\0';
	for (uint32_t i = 0; i < s->depth && i < FRAMES && n + 1 < size; i++) {
		cp_text_format(to + n, size - n, "%s%s", i ? " < " : "",
			       name_of(r, s->locations[i]));
		n += strlen(to + n);
	}
}

void cp_heap_leaks_report(struct cp_comments *out, const struct cp_run *r)
{
	uint32_t top[TOP];
	char frames[160];

	for (unsigned i = 0; i < TOP; i++)
		top[i] = NO_ROW;
	for (uint32_t i = 0; i < r->aggregate.stacks.count; i++)
		if (amount(r, i)->all_bytes)
			insert_leak(r, top, i);
	for (unsigned i = 0; i < TOP && top[i] != NO_ROW; i++) {
		describe_leak(r, cp_aggregate_row_at(&r->aggregate, top[i]), frames,
			      sizeof(frames));
		cp_comments_line(out, "in use: %lu bytes, %lu objects: %s",
				 L(amount(r, top[i])->all_bytes), L(amount(r, top[i])->all_objects),
				 frames);
	}
}
