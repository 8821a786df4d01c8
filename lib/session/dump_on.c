/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumps by themselves (CPROF_DUMP_ON); see session.h. */
#include "session/session.h"

#include "collect/collect.h"
#include "labels/spans.h"
#include "modes/heap/heap.h"
#include "base/text.h"

#define APART_NS UINT64_C(60000000000) /* between two dumps */
#define KEEP 8u			       /* number of dumps that stay */
/* A dump comes so long after a long span: threads that waited for the same lock end their spans,
 * and the one that held it takes its stack. */
#define AFTER_NS UINT64_C(50000000)

/* A look at the memory costs some 30 us. The faster it grows, and the nearer a mark is, the sooner
 * is the next look. */
#define LOOK_MOST UINT64_C(200000000)
#define LOOK_LEAST UINT64_C(10000000)

uint64_t cp_dump_on_span_most = UINT64_MAX;

static struct cp_trigger triggers[CP_TRIGGERS];
static uint32_t long_spans; /* not looked at yet */

/* The rest is the collector's. */
static uint64_t last_dump, next_look; /* monotonic; 0 = none yet; UINT64_MAX = never */
static uint64_t noticed;	      /* since when a long span waits for its dump; 0 = none does */
static uint64_t looked;		      /* spans that ended until then were looked at */
static unsigned missed;		      /* events since the last dump that made none */
static uint64_t before, before_at;    /* resident bytes at the last look, and when that was */
static unsigned kept[CP_MODES][KEEP], dumps;
static bool by_memory;
static char reason[300];

/* ---- any thread ---- */

static bool is_long(const char *name, uint64_t lasted)
{
	for (unsigned i = 0; i < CP_TRIGGERS && triggers[i].more_than; i++)
		if (!triggers[i].is_memory && lasted > triggers[i].more_than &&
		    (!triggers[i].span[0] || !strcmp(triggers[i].span, name)))
			return true;
	return false;
}

void cp_dump_on_span(const char *name, uint64_t lasted)
{
	if (!is_long(name, lasted))
		return;
	cp_add_seqcst(&long_spans, 1);
	cp_collect_request(CP_REQUEST_TICK);
}

/* ---- the collector ---- */

void cp_dump_on_begin(void)
{
	uint64_t most = UINT64_MAX;

	cp_store_seqcst(&cp_dump_on_span_most, most);
	if (cp_session.config.dump_on[0] || triggers[0].more_than)
		cp_triggers_parse(cp_session.config.dump_on, triggers);
	long_spans = dumps = missed = 0;
	last_dump = before = before_at = noticed = 0;
	next_look = UINT64_MAX;
	for (unsigned i = 0; i < CP_TRIGGERS && triggers[i].more_than; i++) {
		if (!triggers[i].is_memory && triggers[i].more_than < most)
			most = triggers[i].more_than;
		else if (triggers[i].is_memory)
			next_look = 0;
	}
	if (!next_look)
		cp_memory_use_find();
	cp_store_release(&cp_dump_on_span_most, most);
}

static uint64_t memory_due(void)
{
	uint64_t again = last_dump ? last_dump + APART_NS : 0;

	return next_look > again ? next_look : again;
}

uint64_t cp_dump_on_due(void)
{
	if (cp_load_seqcst(&cp_session.leaving))
		return UINT64_MAX;
	return cp_load_relaxed(&long_spans) ? (noticed ? noticed + AFTER_NS : 0)
	       : next_look == UINT64_MAX    ? UINT64_MAX
					    : memory_due();
}

/* Says which of the long spans that ended since the last look was the longest. Returns when it
 * began; UINT64_MAX: no index has it. */
static uint64_t say_span(uint64_t now)
{
	const struct cp_vec *all = cp_shared_times_spans(), *threads = cp_shared_times_threads();
	const struct cp_times_span *longest = NULL;
	const struct cp_times_thread *t;
	uint64_t end, utc;

	for (size_t i = 0; i < all->count; i++) {
		const struct cp_times_span *s = CP_VEC_AT(all, struct cp_times_span, i);

		if (s->begin_ns + s->duration_ns > looked &&
		    is_long(cp_spans_name(s->kind), s->duration_ns) &&
		    (!longest || s->duration_ns > longest->duration_ns))
			longest = s;
	}
	cp_text_format(reason, sizeof(reason), "a span was long");
	if (!longest)
		return UINT64_MAX;
	t = CP_VEC_AT(threads, struct cp_times_thread, longest->thread);
	end = longest->begin_ns + longest->duration_ns;
	utc = (cp_sys_clock_ns(CLOCK_REALTIME) - (now - end)) / 1000000;
	cp_text_format(reason, sizeof(reason),
		       "span %s took %s s on thread %d (%s), until %02lu:%02lu:%02lu.%03lu UTC",
		       cp_spans_name(longest->kind), cp_comments_seconds(longest->duration_ns),
		       t->tid, t->name, (unsigned long)(utc / 3600000 % 24),
		       (unsigned long)(utc / 60000 % 60), (unsigned long)(utc / 1000 % 60),
		       (unsigned long)(utc % 1000));
	return longest->begin_ns;
}

/* Returns whether memory in use has passed T's mark since it was below nine tenths of it. LEFT
 * becomes the bytes to the mark, if they are less. */
static bool has_passed(struct cp_trigger *t, const struct cp_memory_use *u, uint64_t *left)
{
	const struct cp_memory_limit whole = { u->resident, t->more_than, NULL };
	const struct cp_memory_limit *over = NULL, *l = t->percent ? u->limits : &whole;
	bool under = true, was = t->passed;

	for (unsigned i = 0; i < (t->percent ? u->count : 1); i++) {
		uint64_t mark = t->percent ? l[i].limit / 100 * t->more_than : l[i].limit;

		under &= l[i].used < mark - mark / 10;
		if (l[i].used > mark)
			over = &l[i];
		else if (mark - l[i].used < *left)
			*left = mark - l[i].used;
	}
	t->passed = over || (was && !under);
	if (!over || was)
		return false;
	if (t->percent)
		cp_text_format(reason, sizeof(reason),
			       "memory has passed %lu%%: %lu kB of %lu kB (%s)",
			       (unsigned long)t->more_than, (unsigned long)(over->used >> 10),
			       (unsigned long)(over->limit >> 10), over->of);
	else
		cp_text_format(reason, sizeof(reason), "resident memory has passed %lu kB: %lu kB",
			       (unsigned long)(t->more_than >> 10),
			       (unsigned long)(u->resident >> 10));
	return true;
}

/* Sets when to look again: at the speed of the last time, a quarter of the way to a mark. */
static bool look_at_memory(uint64_t now)
{
	struct cp_memory_use u;
	uint64_t left = UINT64_MAX, wait = LOOK_MOST, took = now - before_at;
	bool passed = false;

	if (next_look == UINT64_MAX || now < memory_due())
		return false;
	cp_memory_use_read(&u);
	for (unsigned i = 0; i < CP_TRIGGERS && triggers[i].more_than; i++)
		if (triggers[i].is_memory)
			passed |= has_passed(&triggers[i], &u, &left);
	if (before_at && u.resident > before && left != UINT64_MAX) {
		uint64_t ns = (uint64_t)((__uint128_t)left * took / (u.resident - before) / 4);

		wait = ns < wait ? ns : wait;
	}
	before = u.resident;
	before_at = now;
	next_look = now + (wait > LOOK_LEAST ? wait : LOOK_LEAST);
	return passed;
}

bool cp_dump_on_look(bool at_once)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);
	unsigned spans = cp_load_relaxed(&long_spans);

	if (!triggers[0].more_than)
		return false;
	by_memory = look_at_memory(now);
	noticed = spans && !noticed ? now : noticed;
	if (spans && !by_memory && !at_once && now < noticed + AFTER_NS)
		return false;
	spans = cp_exchange_acqrel(&long_spans, 0);
	noticed = 0;
	if (last_dump && now < last_dump + APART_NS) {
		missed += spans;
		looked = now;
		return false;
	}
	return spans || by_memory;
}

/* The file has the slow span from its begin on. */
const char *cp_dump_on_reason(uint64_t *since_ns)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC), began = UINT64_MAX;
	bool recorder = cp_session.config.times & CP_CONFIG_TIMES_KEEP;

	*since_ns = cp_runs_since(recorder ? UINT64_MAX : CP_CONFIG_TIMES_DUMP_ON);
	if (!by_memory)
		began = say_span(now);
	*since_ns = began < *since_ns ? began : *since_ns;
	if (missed)
		cp_text_format(reason + strlen(reason), sizeof(reason) - strlen(reason),
			       "; %u more long spans since the dump before", missed);
	missed = 0;
	last_dump = looked = now;
	return reason;
}

void cp_dump_on_dumped(void)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		unsigned *slot = &kept[m][dumps % KEEP];

		if (!cp_session.runs[m].running)
			continue;
		if (dumps >= KEEP && *slot)
			cp_dump_remove(&cp_session.runs[m], *slot);
		*slot = cp_session.runs[m].dumps;
	}
	dumps++;
}
