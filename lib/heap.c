/* The heap mode's control half; see heap.h. */
#include "heap.h"

#include <time.h>

#include "allocator.h"
#include "collect.h"
#include "jemalloc.h"
#include "log.h"
#include "sigsafe/depot.h"
#include "sigsafe/heap_event.h"
#include "sigsafe/heap_exact.h"
#include "sigsafe/live.h"
#include "sigsafe/poisson.h"
#include "sigsafe/sys.h"
#include "unloaded.h"

/* Slots of the live table to begin with: where all is sampled there is much to come. */
#define SLOTS_SAMPLED ((size_t)1 << 12)
#define SLOTS_EXACT ((size_t)1 << 16)

static uint64_t time_step, next_time; /* a dump by time; UINT64_MAX = never */

struct cp_unloaded *cp_heap_before_unload(void)
{
	return cp_heap_hot.state == CP_HEAP_ON ? cp_unloaded_before() : NULL;
}

/* To say that all went at each dlclose would cost: every stack that is met again is kept again. */
void cp_heap_after_unload(struct cp_unloaded *u)
{
	if (!cp_unloaded_each(u, cp_depot_retire))
		cp_depot_next_epoch();
}

static void ask_for_dump(void)
{
	cp_collect_request(CP_REQUEST_DUMP_OF(CP_MODE_HEAP));
}

/* Stacks are taken in as they come, so that a dump of very many needn't wait for it. Not by the
 * thread that is in malloc. */
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

static void begin_totals(const struct cp_config *c)
{
	struct cp_heap_totals *t = &cp_heap_totals;

	if (cp_sys3(SYS_getrandom, &t->seed, sizeof(t->seed), 1 /* GRND_NONBLOCK */) < 0)
		t->seed = cp_sys_clock_ns(CLOCK_MONOTONIC);
	t->interval = c->heap_interval;
	t->allocated = t->freed = t->peak = 0;
	set_step(&t->next_allocated, &t->allocated_step, c->heap_allocated);
	set_step(&t->next_freed, &t->freed_step, c->heap_freed);
	set_step(&t->next_in_use, &t->in_use_step, c->heap_inuse);
	t->dump = c->heap_allocated || c->heap_freed || c->heap_inuse ? ask_for_dump : NULL;
	time_step = c->heap_time_ns;
	next_time = time_step ? cp_sys_clock_ns(CLOCK_MONOTONIC) + time_step : UINT64_MAX;
}

static void begin_counting(void)
{
	/* What an earlier run, or a fork's parent, counted is in older epochs. */
	cp_depot_next_epoch();
	cp_store_relaxed(&cp_heap_totals.first_epoch, cp_depot_epoch());
	cp_depot_mark_peak();
}

static void switch_on(uint64_t interval)
{
	/* Blocks that hooks tell of are as they are. */
	bool hooked = cp_jemalloc_start();
	bool tags = interval >= CP_HEAP_TAG_INTERVAL && cp_allocator.aligns && !hooked;

	cp_live_configure(interval >= CP_HEAP_TAG_INTERVAL ? SLOTS_SAMPLED : SLOTS_EXACT);
	cp_heap_hot_look(interval < CP_HEAP_TAG_INTERVAL, tags);
	cp_store_seqcst(&cp_heap_hot.state, CP_HEAP_ON);
	cp_store_seqcst(&cp_heap_hot.counts, interval > 1);
	cp_store_seqcst(&cp_heap_hot.all, interval <= 1);
}

static void switch_off(void)
{
	cp_store_seqcst(&cp_heap_hot.all, false);
	cp_store_seqcst(&cp_heap_hot.counts, false);
	cp_store_seqcst(&cp_heap_hot.state, CP_HEAP_OFF);
	cp_heap_hot_rest();
}

int cp_heap_start(struct cp_run *r, const struct cp_config *c)
{
	(void)r;
	cp_depot_wake = ask_for_drain;
	begin_totals(c);
	begin_counting();
	/* The caller's next sample was drawn in an earlier run, maybe of larger intervals, and
	 * would stand for as much. */
	cp_self.heap.interval = cp_self.heap.left = 0;
	cp_heap_exact_leave();
	switch_on(c->heap_interval);
	return 0;
}

void cp_heap_stop(struct cp_run *r)
{
	(void)r;
	switch_off();
	cp_jemalloc_stop();
}

void cp_heap_thread_end(struct cp_thread *t)
{
	if (cp_self.thread == t && cp_heap_hot.state == CP_HEAP_ON)
		cp_heap_event_flush();
}

/* Children that went on with their parent's draws would all sample the same of what they do alike:
 * the error of their sum would be that of one, as often as there are children. No system call: a
 * filter may refuse it. */
static void draw_apart(void)
{
	struct cp_heap_totals *t = &cp_heap_totals;

	t->seed = cp_poisson_seed(t->seed ^ cp_ticks(), (uint64_t)cp_sys_getpid());
	cp_self.heap.random = cp_poisson_seed(t->seed, cp_add_relaxed(&t->threads, 1));
	cp_self.heap.interval = cp_self.heap.left = 0;
}

static void begin_step(uint64_t *next, uint64_t step)
{
	if (*next != UINT64_MAX)
		*next = step;
}

/* The parent's dumps are behind what it has allocated, of which the child has nothing. */
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
	(void)r;
	cp_heap_event_forget();
	begin_childs_totals();
	draw_apart();
	if (time_step)
		next_time = cp_sys_clock_ns(CLOCK_MONOTONIC) + time_step;
	begin_counting();
	if (!keep)
		switch_off();
}

uint64_t cp_heap_due(void)
{
	return cp_load_relaxed(&next_time);
}

void cp_heap_tick(struct cp_run *r)
{
	(void)r;
	next_time = cp_sys_clock_ns(CLOCK_MONOTONIC) + time_step;
	cp_collect_request(CP_REQUEST_DUMP_OF(CP_MODE_HEAP));
}

void cp_heap_prepare(void)
{
	cp_jemalloc_find();
}

void cp_heap_check(void)
{
	const char *why, *jemalloc = cp_jemalloc_unusable();

	if (cp_heap_hot.state != CP_HEAP_ON)
		return;
	why = cp_allocator_unseen();
	if (why || jemalloc)
		cp_log("allocations of this program can't be seen: %s%s%s", why ? why : "",
		       why && jemalloc ? "; " : "", jemalloc ? jemalloc : "");
	else if (cp_jemalloc_version())
		cp_log("allocations are seen through the experimental hooks of jemalloc %s, which "
		       "is linked into the program",
		       cp_jemalloc_version());
}
