/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks of memory use; see heap.h. */
#include "modes/heap/heap.h"

#include <errno.h>

#include "base/sys.h"
#include "base/text.h"

/* A look costs some 30 us. The faster memory grows, and the nearer a mark is, the sooner is the
 * next one. */
#define LOOK_MOST UINT64_C(200000000)
#define LOOK_LEAST UINT64_C(10000000)

/* The most memory that a dump needs for itself: buffers of the compressor, names, rows. */
#define RESERVE ((size_t)8 << 20)

#define STALLED 10 /* per cent: from here on tasks wait for memory */
#define KEEP 4u	   /* number of dumps that are kept */

enum state { IDLE, ASKED, WRITING };

static uint64_t marks[CP_MEMORY_WATCH_MARKS];
static bool passed[CP_MEMORY_WATCH_MARKS];
static uint64_t next = UINT64_MAX;
static uint64_t before, before_at; /* bytes used at the last look, and when that was */
static uint64_t left;		   /* bytes from there to the nearest mark that isn't passed */
static char *reserve;
static enum state state;
static char reason[160];
static unsigned kept[2][KEEP], kept_count[2];

static int parse_one(const char *s, uint64_t *mark)
{
	uint64_t n = 0;
	const char *end = s;

	if (!strcmp(s, "pressure")) {
		*mark = CP_MEMORY_WATCH_PRESSURE;
		return 0;
	}
	if (!cp_text_parse_u64(&end, 10, &n) && !strcmp(end, "%") && n >= 1 && n <= 100) {
		*mark = n | CP_MEMORY_WATCH_PERCENT;
		return 0;
	}
	if (cp_config_values_size(s, &n) || !n || n >= CP_MEMORY_WATCH_PERCENT)
		return -EINVAL;
	*mark = n;
	return 0;
}

int cp_memory_watch_parse(const char *text, uint64_t to[CP_MEMORY_WATCH_MARKS])
{
	uint64_t read[CP_MEMORY_WATCH_MARKS] = { 0 };
	unsigned count = 0;
	char one[32];

	for (;;) {
		size_t n = strcspn(text, ",");

		if (count == CP_MEMORY_WATCH_MARKS || n >= sizeof(one))
			return -EINVAL;
		memcpy(one, text, n);
		one[n] = '\0';
		if (parse_one(one, &read[count++]))
			return -EINVAL;
		if (!text[n])
			break;
		text += n + 1;
	}
	memcpy(to, read, sizeof(read));
	return 0;
}

/* The pages are touched, so that they belong to the process already. */
static void take_reserve(void)
{
	if (reserve)
		return;
	reserve = cp_sys_map(RESERVE);
	for (size_t i = 0; reserve && i < RESERVE; i += 4096)
		*(volatile char *)(reserve + i) = 1;
}

static void give_reserve(void)
{
	if (reserve)
		cp_sys_unmap(reserve, RESERVE);
	reserve = NULL;
}

static void begin_watch(void)
{
	memset(passed, 0, sizeof(passed));
	memset(kept_count, 0, sizeof(kept_count));
	state = IDLE;
	before = before_at = 0;
	next = UINT64_MAX;
	if (!marks[0])
		return;
	cp_memory_use_find();
	take_reserve();
	next = cp_sys_clock_ns(CLOCK_MONOTONIC);
}

bool cp_memory_watch_is_good(const char *text)
{
	uint64_t read[CP_MEMORY_WATCH_MARKS];

	return !*text || !cp_memory_watch_parse(text, read);
}

void cp_memory_watch_start(const char *text)
{
	memset(marks, 0, sizeof(marks));
	if (*text)
		(void)cp_memory_watch_parse(text, marks);
	begin_watch();
}

bool cp_memory_watch_is_on(void)
{
	return marks[0];
}

void cp_memory_watch_stop(void)
{
	next = UINT64_MAX;
	give_reserve();
}

void cp_memory_watch_fork_child(void)
{
	begin_watch();
}

uint64_t cp_memory_watch_due(void)
{
	return cp_load_relaxed(&next);
}

/* Distance to a mark; if the mark is a share of limits, to the nearest limit's share. */
struct distance {
	bool over;			  /* use is above the mark */
	bool under;			  /* use is below nine tenths of the mark */
	uint64_t left;			  /* bytes to the mark; UINT64_MAX: it has no amount */
	const struct cp_memory_limit *at; /* nearest limit, if the mark is a share; else NULL */
};

static void measure_distance(struct distance *d, uint64_t used, uint64_t mark,
			     const struct cp_memory_limit *l)
{
	uint64_t more = mark > used ? mark - used : 0;

	d->over |= !more;
	/* The reserve that was given back for the dump doesn't count as freed by the program. */
	d->under &= used + (reserve ? 0 : RESERVE) < mark - mark / 10;
	if (more >= d->left)
		return;
	d->left = more;
	d->at = l;
}

static struct distance distance_of(uint64_t m, const struct cp_memory_use *u)
{
	struct distance d = { .under = true, .left = UINT64_MAX };

	if (m == CP_MEMORY_WATCH_PRESSURE) {
		d.over = u->stalled >= STALLED;
		d.under = u->stalled < STALLED / 2;
	} else if (!(m & CP_MEMORY_WATCH_PERCENT)) {
		measure_distance(&d, u->resident, m, NULL);
	} else {
		for (unsigned i = 0; i < u->count; i++)
			measure_distance(&d, u->limits[i].used,
					 u->limits[i].limit / 100 * (m & ~CP_MEMORY_WATCH_PERCENT),
					 &u->limits[i]);
	}
	return d;
}

static void say_mark(uint64_t m, const struct cp_memory_use *u, const struct cp_memory_limit *l)
{
	if (m == CP_MEMORY_WATCH_PRESSURE)
		cp_text_format(reason, sizeof(reason),
			       "tasks waited for memory for %u%% of ten seconds", u->stalled);
	else if (l)
		cp_text_format(
			reason, sizeof(reason), "memory has passed %lu%%: %lu kB of %lu kB (%s)",
			(unsigned long)(m & ~CP_MEMORY_WATCH_PERCENT),
			(unsigned long)(l->used >> 10), (unsigned long)(l->limit >> 10), l->of);
	else
		cp_text_format(reason, sizeof(reason), "resident memory has passed %lu kB: %lu kB",
			       (unsigned long)(m >> 10), (unsigned long)(u->resident >> 10));
}

/* Returns whether mark I has been passed since the last look. */
static bool look_at_mark(unsigned i, const struct cp_memory_use *u)
{
	struct distance d = distance_of(marks[i], u);

	if (passed[i]) {
		passed[i] = !d.under;
		return false;
	}
	passed[i] = d.over;
	if (d.over)
		say_mark(marks[i], u, d.at);
	else if (d.left < left)
		left = d.left;
	return d.over;
}

/* Returns the ns until the next look: at the speed of the last time, a quarter of the way to the
 * nearest mark. */
static uint64_t until_next(const struct cp_memory_use *u, uint64_t now)
{
	uint64_t grown = u->resident > before ? u->resident - before : 0, took = now - before_at;
	uint64_t wait = LOOK_MOST;

	if (grown && before_at && left != UINT64_MAX) {
		uint64_t ns = (uint64_t)((__uint128_t)left * took / grown / 4);

		wait = ns < wait ? ns : wait;
	}
	before = u->resident;
	before_at = now;
	return wait > LOOK_LEAST ? wait : LOOK_LEAST;
}

bool cp_memory_watch_tick(void)
{
	struct cp_memory_use u;
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);
	bool due = false, any = false;

	if (state == ASKED) {
		cp_store_relaxed(&next, now + LOOK_LEAST);
		return false;
	}
	state = IDLE;
	cp_memory_use_read(&u);
	if (reserve && u.resident > RESERVE)
		u.resident -= RESERVE;
	left = UINT64_MAX;
	for (unsigned i = 0; i < CP_MEMORY_WATCH_MARKS && marks[i]; i++) {
		due |= look_at_mark(i, &u);
		any |= passed[i];
	}
	if (due) {
		give_reserve();
		state = ASKED;
	} else if (!any) {
		take_reserve();
	}
	cp_store_relaxed(&next, now + until_next(&u, now));
	return due;
}

bool cp_memory_watch_is_asked(void)
{
	return state == ASKED;
}

uint64_t cp_memory_watch_left(void)
{
	return left;
}

const char *cp_memory_watch_reason(void)
{
	return state == IDLE ? NULL : reason;
}

unsigned cp_memory_watch_dumped(unsigned kind, unsigned number, bool written)
{
	unsigned *list = kept[kind], old = 0;

	if (state == IDLE)
		return 0;
	state = WRITING;
	if (!written)
		return 0;
	if (kept_count[kind] == KEEP) {
		old = list[0];
		memmove(list, list + 1, (KEEP - 1) * sizeof(*list));
		kept_count[kind]--;
	}
	list[kept_count[kind]++] = number;
	return old;
}
