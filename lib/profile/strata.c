/* SPDX-License-Identifier: BSD-3-Clause */
/* Calibrates rows to exact totals; see profile.h. */
#include "profile/profile.h"

#include <string.h>

#include "base/sys.h"
#include "sample/sample.h"

/* A sample whose event isn't counted yet is kept for later settles. What stays uncounted for this
 * long never will be: a handler has jumped out between the two. */
#define KEEP_NS UINT64_C(1000000000)
/* Samples may exceed their events by rounding: less than this part is dropped. */
#define ROUNDING 1024

/* One value of a stratum, while it is settled. */
struct portion {
	/* Sums over the rows; SPREAD is the samples' part in the variance of SHARE. */
	uint64_t self;
	double share, spread;
	double most;	 /* the largest SPREAD / SHARE of a row */
	bool keeps_self; /* samples keep their own values, and only LEFT is divided by SHARE */
	uint64_t left, given;
	double by, passed; /* the sum by which LEFT is divided, and the part of it in the rows so
			      far */
	double factor;	   /* factor of a row's part of BY */
	double correction; /* correction for each unit of SPREAD */
	double sum;	   /* sum of what the rows so far must get, from a random start */
};

struct stratum {
	uint64_t tag;
	uint32_t thread;
	bool joined;	/* others are settled with it: what is left belongs to no thread */
	uint32_t with;	/* number of the stratum with which it is settled; mostly its own */
	uint32_t first; /* the first of its tag that has few samples, plus 1: if it has no thread */
	uint64_t samples;
	uint64_t exact[CP_VALUES];
	struct portion portions[CP_VALUES];
};

/* Samples of a row since the last settle. */
struct pending {
	uint32_t samples; /* 0 = nothing is pending */
	uint32_t stratum;
	uint64_t self[CP_VALUES];
	double share[CP_VALUES], spread[CP_VALUES];
	uint64_t kept_ns; /* when some of them were kept first, monotonic; 0 = all are new */
};

/* Samples of a row whose events are not counted yet. */
struct kept {
	uint32_t row;
	bool by_thread; /* the stratum has the row's thread; false: none */
	uint64_t tag, since_ns;
	uint64_t self[CP_VALUES];
	double share[CP_VALUES];
};

struct key {
	uint64_t tag;
	uint64_t thread;
};

static struct stratum *at(const struct cp_strata *st, size_t i)
{
	return CP_VEC_AT(&st->strata, struct stratum, i);
}

static struct stratum *settled_with(const struct cp_strata *st, uint32_t i)
{
	return at(st, at(st, i)->with);
}

static struct pending *pending_at(const struct cp_strata *st, size_t row)
{
	return CP_VEC_AT(&st->rows, struct pending, row);
}

static bool same_stratum(uint32_t item, const void *key, const void *context)
{
	const struct stratum *s = at(context, item);
	const struct key *k = key;

	return s->tag == k->tag && s->thread == k->thread;
}

/* Returns the number of the stratum, or CP_INDEX_NONE without memory. */
static uint32_t find_stratum(struct cp_strata *st, uint32_t thread, uint64_t tag)
{
	const struct key k = { tag, thread };
	uint32_t hash = cp_index_hash(&k, sizeof(k));
	uint32_t item = cp_index_find(&st->index, hash, same_stratum, &k, st);
	struct stratum *s;

	if (item != CP_INDEX_NONE)
		return item;
	st->strata.size = sizeof(struct stratum);
	s = cp_vec_add(&st->strata);
	if (!s)
		return CP_INDEX_NONE;
	item = (uint32_t)(st->strata.count - 1);
	if (cp_index_add(&st->index, hash, item) < 0) {
		st->strata.count--;
		return CP_INDEX_NONE;
	}
	*s = (struct stratum){ .tag = tag, .thread = thread, .with = item };
	return item;
}

bool cp_strata_sampled(struct cp_strata *st, uint32_t row, uint32_t thread, uint64_t tag,
		       const uint64_t self[CP_VALUES], const double share[CP_VALUES])
{
	uint32_t stratum = find_stratum(st, thread, tag);
	struct pending *p;

	st->rows.size = sizeof(struct pending);
	/* The vector grows step by step, because it grows to the size that is asked for. */
	if (stratum == CP_INDEX_NONE ||
	    (row >= st->rows.count && !cp_vec_extend(&st->rows, (size_t)row + row / 2 + 64)))
		return false;
	p = pending_at(st, row);
	p->samples++;
	p->stratum = stratum;
	for (unsigned v = 0; v < CP_VALUES; v++) {
		p->self[v] += self[v];
		p->share[v] += share[v];
		p->spread[v] += share[v] * ((double)self[v] + share[v]);
	}
	return true;
}

bool cp_strata_exact(struct cp_strata *st, uint32_t thread, uint64_t tag,
		     const uint64_t values[CP_VALUES])
{
	uint32_t stratum = find_stratum(st, thread, tag);

	for (unsigned v = 0; v < CP_VALUES && stratum != CP_INDEX_NONE; v++)
		at(st, stratum)->exact[v] += values[v];
	return stratum != CP_INDEX_NONE;
}

void cp_strata_withhold(struct cp_strata *st, uint32_t thread, uint64_t tag,
			uint64_t values[CP_VALUES])
{
	uint32_t stratum = find_stratum(st, thread, tag);

	for (unsigned v = 0; v < CP_VALUES; v++) {
		uint64_t *exact = stratum == CP_INDEX_NONE ? NULL : &at(st, stratum)->exact[v];

		values[v] = !exact ? 0 : values[v] < *exact ? values[v] : *exact;
		if (exact)
			*exact -= values[v];
	}
}

static void add_to(struct stratum *s, const struct pending *row)
{
	s->samples += row->samples;
	for (unsigned v = 0; v < CP_VALUES; v++) {
		struct portion *p = &s->portions[v];

		p->self += row->self[v];
		p->share += row->share[v];
		p->spread += row->spread[v];
		if (row->spread[v] > p->most * row->share[v])
			p->most = row->spread[v] / row->share[v];
	}
}

/* Sums up the pending samples by the strata that they are settled with. */
static void sum_up(struct cp_strata *st)
{
	for (uint32_t i = 0; i < st->strata.count; i++) {
		at(st, i)->samples = 0;
		memset(at(st, i)->portions, 0, sizeof(at(st, i)->portions));
	}
	for (uint32_t row = 0; row < st->rows.count; row++)
		if (pending_at(st, row)->samples)
			add_to(settled_with(st, pending_at(st, row)->stratum), pending_at(st, row));
}

static bool has_few(const struct cp_strata *st, const struct stratum *s)
{
	bool more = false;

	for (unsigned v = 0; v < CP_VALUES; v++)
		more |= s->exact[v] > s->portions[v].self;
	return more && s->samples < st->few;
}

/* Finds strata with few samples and settles those of a tag together, with the first of them. */
static void join_small(struct cp_strata *st)
{
	uint32_t count = (uint32_t)st->strata.count;

	for (uint32_t i = 0; i < count; i++)
		if (has_few(st, at(st, i))) {
			uint32_t all = find_stratum(st, CP_NO_THREAD, at(st, i)->tag);

			if (all == CP_INDEX_NONE)
				break;
			if (!at(st, all)->first)
				at(st, all)->first = i + 1;
			at(st, i)->with = at(st, all)->first - 1;
		}
	sum_up(st);
	for (uint32_t i = 0; i < count; i++) {
		struct stratum *s = at(st, i), *with = settled_with(st, i);

		/* Strata without any sample get a row each. */
		if (!with->samples)
			s->with = i;
		if (s->with == i)
			continue;
		with->joined = true;
		for (unsigned v = 0; v < CP_VALUES; v++)
			with->exact[v] += s->exact[v];
		memset(s->exact, 0, sizeof(s->exact));
	}
}

/* Decides how EXACT of a value is divided. The error of SHARE is due to the samples with the
 * largest part in its variance, so the rows bear the difference by SPREAD. If that would take more
 * from a row than it has, all are scaled alike. */
static void divide_portion(struct portion *p, uint64_t exact, uint64_t random)
{
	double difference;

	p->keeps_self = exact == p->self || (exact > p->self && p->share > 0);
	p->left = p->keeps_self ? exact - p->self : exact;
	p->by = p->keeps_self ? p->share : (double)p->self;
	p->sum = (double)(random >> 11) * 0x1p-53;
	if (!(p->by > 0))
		return;
	p->factor = (double)p->left / p->by;
	difference = (double)p->left - p->by;
	if (p->keeps_self && -difference * p->most <= p->spread) {
		p->factor = 1;
		p->correction = difference / p->spread;
	}
}

/* Returns the part of P for a row with these values. */
static uint64_t take_share(struct portion *p, uint64_t self, double share, double spread)
{
	double part = p->keeps_self ? share : (double)self;
	uint64_t up_to = p->left, turn = 0;

	p->passed += part;
	p->sum += part * p->factor + spread * p->correction;
	/* The last row gets the rest, so that the sum stays the same. */
	if (p->passed < p->by)
		up_to = p->sum < (double)p->left ? (uint64_t)p->sum : p->left;
	if (part > 0 && up_to > p->given) {
		turn = up_to - p->given;
		p->given = up_to;
	}
	return turn + (p->keeps_self ? self : 0);
}

static void add_values(struct cp_stack *row, const uint64_t values[CP_VALUES])
{
	for (unsigned v = 0; v < CP_VALUES; v++)
		row->values[v] += values[v];
}

static void add_to_row(struct cp_aggregate *a, uint32_t row, const uint64_t values[CP_VALUES],
		       cp_strata_add *how)
{
	(how ? how : add_values)(cp_aggregate_row_at(a, row), values);
	a->weight += values[1];
}

/* Keeps what of row ROW's samples, P, is not in VALUES, if their stratum has samples of more than
 * was counted. Without memory it is lost. */
static void keep_rest(struct cp_strata *st, uint32_t row, const struct pending *p,
		      const uint64_t values[CP_VALUES], uint64_t now)
{
	const struct stratum *own = at(st, p->stratum), *s = settled_with(st, p->stratum);
	struct kept k = { .row = row,
			  .by_thread = own->thread != CP_NO_THREAD,
			  .tag = own->tag,
			  .since_ns = p->kept_ns ? p->kept_ns : now };
	struct kept *to;
	bool any = false;

	for (unsigned v = 0; v < CP_VALUES; v++) {
		const struct portion *o = &s->portions[v];

		if (o->self <= s->exact[v] || (o->self - s->exact[v]) < o->self / ROUNDING ||
		    p->self[v] <= values[v])
			continue;
		k.self[v] = p->self[v] - values[v];
		k.share[v] = p->share[v] * (double)k.self[v] / (double)p->self[v];
		any = true;
	}
	st->kept.size = sizeof(k);
	to = any && !st->estimates && now - k.since_ns <= KEEP_NS ? cp_vec_add(&st->kept) : NULL;
	if (to)
		*to = k;
}

/* What was kept is pending again. */
static void take_kept(struct cp_strata *st, const struct cp_aggregate *a)
{
	for (size_t i = 0; i < st->kept.count; i++) {
		const struct kept *k = CP_VEC_AT(&st->kept, struct kept, i);
		uint32_t thread =
			k->by_thread ? cp_aggregate_row_at(a, k->row)->thread : CP_NO_THREAD;
		struct pending *p;

		if (!cp_strata_sampled(st, k->row, thread, k->tag, k->self, k->share))
			continue;
		p = pending_at(st, k->row);
		if (!p->kept_ns || k->since_ns < p->kept_ns)
			p->kept_ns = k->since_ns;
	}
	st->kept.count = 0;
}

void cp_strata_rows(struct cp_strata *st, void (*see)(uint32_t *row, void *arg), void *arg)
{
	for (size_t i = 0; i < st->kept.count; i++)
		see(&CP_VEC_AT(&st->kept, struct kept, i)->row, arg);
}

static void give_rows(struct cp_strata *st, struct cp_aggregate *a, cp_strata_add *how)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);

	for (uint32_t row = 0; row < st->rows.count; row++) {
		struct pending *p = pending_at(st, row);
		struct stratum *s = p->samples ? settled_with(st, p->stratum) : NULL;
		uint64_t values[CP_VALUES];

		for (unsigned v = 0; s && v < CP_VALUES; v++) {
			values[v] =
				take_share(&s->portions[v], p->self[v], p->share[v], p->spread[v]);
			/* The certain parts of the stratum's other rows are certain here, too. */
			if (p->spread[v] > 0)
				st->variance[v] +=
					p->spread[v] * (1 - p->spread[v] / s->portions[v].spread);
		}
		if (s) {
			add_to_row(a, row, values, how);
			keep_rest(st, row, p, values, now);
		}
	}
}

/* Adds what no sample represents. Returns how much of values[1] is lost. */
static uint64_t give_rest(const struct cp_strata *st, const struct stratum *s,
			  struct cp_aggregate *a, cp_strata_add *how)
{
	const struct cp_raw_stack stack = { .location =
						    st->rest ? st->rest : CP_LOCATION_NOT_SAMPLED,
					    .thread = s->joined ? CP_NO_THREAD : s->thread,
					    .tag = s->tag };
	uint64_t rest[CP_VALUES], any = 0;
	uint32_t row;

	for (unsigned v = 0; v < CP_VALUES; v++)
		any |= rest[v] = s->portions[v].left - s->portions[v].given;
	if (!any)
		return 0;
	row = cp_aggregate_row(a, &stack);
	if (row == CP_INDEX_NONE)
		return rest[1];
	a->records++;
	add_to_row(a, row, rest, how);
	return 0;
}

uint64_t cp_strata_settle(struct cp_strata *st, struct cp_aggregate *a, cp_strata_add *how)
{
	uint64_t lost = 0;

	take_kept(st, a);
	sum_up(st);
	join_small(st);
	for (uint32_t i = 0; i < st->strata.count; i++)
		for (unsigned v = 0; v < CP_VALUES; v++) {
			divide_portion(&at(st, i)->portions[v], at(st, i)->exact[v],
				       cp_poisson_seed(0, st->random++));
			st->total[v] += (double)at(st, i)->exact[v];
		}
	give_rows(st, a, how);
	for (uint32_t i = 0; i < st->strata.count; i++)
		lost += give_rest(st, at(st, i), a, how);
	st->strata.count = st->rows.count = 0;
	cp_index_clear(&st->index);
	return lost;
}

void cp_strata_release(struct cp_strata *st)
{
	cp_vec_release(&st->strata);
	cp_vec_release(&st->rows);
	cp_vec_release(&st->kept);
	cp_index_release(&st->index);
}
