/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples calls; see io_sample.h. */
#include "modes/io/signal/io_sample.h"

#include "base/atomic.h"
#include "sample/poisson.h"

/* Tokens that a thread may save, in half seconds' worth: 250 at the default budget, so a short
 * program's calls are all recorded. A ring has room for so many. */
#define SAVED_HALVES 5
/* The process saves the tokens of so many threads that begin. */
#define BEGINNERS 16
/* The clock counts from the machine's start. In the process's account it begins here, so that there
 * is room for what is saved before the clock's 0. */
#define SAVED_SINCE (UINT64_C(1) << 62)
/* The byte interval doubles if a point comes after less than the gap that the budget allows divided
 * by NEAR, and halves after FAR gaps without a point. */
#define NEAR 4
#define FAR 4

/* Ticks for each token: half of the budget. */
static uint64_t price(const struct cp_io_rates *r)
{
	return 2 * r->second / r->budget;
}

/* Ticks of delay for each point: a quarter of the budget. Also the gap between points of bytes. */
static uint64_t interval(const struct cp_io_rates *r)
{
	/* At least 400 ticks: a budget is at most a million, and a second 10^8 ticks or more. */
	return 4 * r->second / r->budget;
}

static void set_intervals(struct cp_io_sampler *s, const struct cp_io_rates *r)
{
	uint64_t ticks = interval(r);

	s->per_tick = CP_IO_ONE / ticks;
	s->sure = CP_IO_SURE * ticks;
	s->per_byte = CP_IO_ONE >> s->bytes_shift;
	s->sure_bytes = (uint64_t)CP_IO_SURE << s->bytes_shift;
}

static void draw(struct cp_io_sampler *s)
{
	s->left = (int64_t)cp_poisson_draw(&s->random, CP_IO_ONE);
}

static uint64_t most_saved(const struct cp_io_rates *r)
{
	return SAVED_HALVES * r->second / 2;
}

uint64_t cp_io_sample_saved(uint64_t *used, const struct cp_io_rates *r, uint64_t now)
{
	uint64_t before = cp_load_relaxed(used), most = most_saved(r), first, at, saved;

	now += SAVED_SINCE;
	first = now - BEGINNERS * most;
	/* The word alone is shared. If a handler or another thread was faster, the next look is
	 * at what it left. */
	do {
		at = before > first ? before : first;
		saved = now > at ? now - at : 0;
		saved = saved > most ? most : saved - saved % price(r);
	} while (!cp_cas_acqrel(used, &before, at + saved));
	return saved;
}

void cp_io_sample_begin(struct cp_io_sampler *s, const struct cp_io_rates *r, uint64_t now,
			uint64_t saved, uint64_t seed)
{
	uint64_t missing = most_saved(r) - saved;

	/* The first token that isn't there comes after its price. */
	if (missing)
		missing += price(r) - 1;
	*s = (struct cp_io_sampler){ .random = cp_poisson_seed(seed, now),
				     .credit = now + missing,
				     .attention = saved ? now : now + price(r),
				     .last = now,
				     .bytes_shift = CP_IO_BYTES_FIRST_SHIFT };
	set_intervals(s, r);
	draw(s);
}

static bool take_token(struct cp_io_sampler *s, const struct cp_io_rates *r, uint64_t now)
{
	uint64_t saved = most_saved(r);

	if (s->credit < now)
		s->credit = now;
	if (s->credit - now >= saved)
		return false;
	s->credit += price(r);
	s->attention = s->credit > saved ? s->credit - saved : 0;
	return true;
}

/* Let the byte interval follow the rate of points. */
static void adapt(struct cp_io_sampler *s, const struct cp_io_rates *r, uint64_t now, bool point)
{
	uint64_t gap = interval(r), since = now > s->last ? now - s->last : 0;

	if (since > FAR * gap && s->bytes_shift > CP_IO_BYTES_MIN_SHIFT)
		s->bytes_shift--;
	else if (point && since < gap / NEAR && s->bytes_shift < CP_IO_BYTES_MAX_SHIFT)
		s->bytes_shift++;
	else if (!point)
		return;
	s->last = now;
}

/* 1 / (1 - e^-m) */
static uint64_t weight_of(uint64_t m)
{
	double w = cp_poisson_weight(m, CP_IO_ONE) * (double)(1u << CP_IO_WEIGHT_SHIFT);

	return (uint64_t)(w + 0.5);
}

uint64_t cp_io_sample_take(struct cp_io_sampler *s, const struct cp_io_rates *r, uint64_t now,
			   uint64_t m, bool bytes_share)
{
	bool point = s->left <= 0, token = take_token(s, r, now);
	uint64_t weight = token ? UINT64_C(1) << CP_IO_WEIGHT_SHIFT : point ? weight_of(m) : 0;

	/* The call that was recorded may change the intervals; its own weight is settled. */
	adapt(s, r, now, point && bytes_share);
	set_intervals(s, r);
	if (point)
		draw(s);
	return weight;
}
