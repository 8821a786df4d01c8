/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples waits and unlocks; see lock_sample.h. */
#include "modes/lock/signal/lock_sample.h"

/* Limits of a stratum of unlocks. A new stratum has at most twice the unlocks of the one before,
 * and at most UNLOCKS_MAX. A stratum is abandoned after UNLOCKS_NS_MAX, because the rate may have
 * fallen by orders of magnitude. That doesn't favour any unlock, because only time decides.
 */
#define UNLOCKS_MAX (UINT32_C(1) << 20)
#define UNLOCKS_NS_MAX UINT64_C(1000000000)

/* xorshift64* of Marsaglia and Vigna; seeded by the state's address and the time. */
static uint64_t draw(struct cp_lock_waits *w)
{
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return w->random * UINT64_C(0x2545f4914f6cdd1d);
}

/* Return a random number, uniform in [0, below). */
static uint64_t draw_below(struct cp_lock_waits *w, uint64_t below)
{
	return (uint64_t)((unsigned __int128)draw(w) * below >> 64);
}

static void seed(struct cp_lock_waits *w, uint64_t now)
{
	w->random = ((uint64_t)(uintptr_t)w ^ now * UINT64_C(0x9e3779b97f4a7c15)) | 1;
	draw(w);
}

static bool take_token(uint64_t *credit, uint64_t now, uint64_t price, uint64_t saved)
{
	if (*credit < now)
		*credit = now;
	if (*credit - now >= saved)
		return false;
	*credit += price;
	return true;
}

/* Return how many of the points are on the next DELAY ns of the line. DELAY is less than a stratum.
 */
static unsigned points_on(struct cp_lock_waits *w, uint64_t delay, uint64_t stratum)
{
	uint64_t end = w->position + delay;
	unsigned hits = w->point >= w->position && w->point < end;

	w->position = end;
	if (end >= stratum) {
		w->position = end - stratum;
		w->point = draw_below(w, stratum);
		hits += w->point < w->position;
	}
	return hits;
}

bool cp_lock_sample_wait(struct cp_lock_waits *w, uint64_t now, uint64_t delay, uint64_t stratum,
			 struct cp_lock_sample *out)
{
	unsigned hits;

	if (!w->random)
		seed(w, now);
	if (w->stratum != stratum) {
		w->stratum = stratum;
		w->position = 0;
		w->point = draw_below(w, stratum);
	}
	*out = (struct cp_lock_sample){ 1, delay };
	if (!stratum || delay >= stratum || take_token(&w->credit, now, stratum, CP_LOCK_SAVED_NS))
		return true;
	hits = delay ? points_on(w, delay, stratum) : 0;
	if (!hits)
		return false;
	out->delay = hits * stratum;
	/* The fraction is rounded up with a probability equal to the fraction. */
	out->count = (out->delay + draw_below(w, delay)) / delay;
	return true;
}

uint64_t cp_lock_sample_left(const struct cp_lock_waits *w, uint64_t now, uint64_t stratum)
{
	uint64_t next = w->point >= w->position ? w->point : stratum, token;

	if (!stratum || w->stratum != stratum || w->credit <= now + CP_LOCK_SAVED_NS)
		return 0;
	next -= w->position;
	token = w->credit - CP_LOCK_SAVED_NS - now;
	return next < token ? next : token;
}

static void begin(struct cp_lock_unlocks *u, struct cp_lock_waits *random, uint32_t size)
{
	u->size = size;
	u->at = 0;
	u->taken = (uint32_t)draw_below(random, size);
}

void cp_lock_sample_begin(struct cp_lock_unlocks *u, struct cp_lock_waits *random)
{
	if (!random->random)
		seed(random, 1);
	begin(u, random, u->size ? u->size : 1);
}

bool cp_lock_sample_alone(struct cp_lock_unlocks *u, uint64_t now, uint64_t before,
			  uint64_t stratum)
{
	return before && before + stratum <= now &&
	       take_token(&u->alone, now, stratum, CP_LOCK_SAVED_UNLOCKS * stratum);
}

void cp_lock_sample_time(struct cp_lock_unlocks *u, struct cp_lock_waits *random, uint64_t now,
			 uint64_t stratum)
{
	uint64_t elapsed = u->began ? now - u->began : 0, size = 1;

	if (u->began && u->at < u->size && elapsed < UNLOCKS_NS_MAX)
		return;
	/* Without tokens, a stratum has the length that yields one sample in a stratum of time.
	 * Tokens are used again only when that length is one unlock. */
	if (stratum && u->began &&
	    (u->size > 1 ||
	     !take_token(&u->credit, now, stratum, CP_LOCK_SAVED_UNLOCKS * stratum))) {
		size = stratum * u->at / (elapsed ? elapsed : 1);
		if (size > 2 * (uint64_t)u->size)
			size = 2 * (uint64_t)u->size;
		if (size > UNLOCKS_MAX)
			size = UNLOCKS_MAX;
	}
	u->began = now;
	begin(u, random, size ? (uint32_t)size : 1);
}
