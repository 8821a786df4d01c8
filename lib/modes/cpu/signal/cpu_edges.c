/* SPDX-License-Identifier: BSD-3-Clause */
/* Credit at the begin of threads for expiries missed at the end of others; see cpu_signal.h. */
#include "modes/cpu/signal/cpu_signal.h"

#include "base/start_data.h"

/* Two start functions may share an account. The first one is for threads whose start function isn't
 * known, such as main. */
#define ACCOUNTS 64

/* Ticks may stay away for long. The expiries that are missed then are credited to several threads,
 * of which each gets up to this many times as many as it would without them. */
#define CREDIT_MOST 4

struct account {
	uint64_t start;	  /* the start function that was last seen */
	int64_t balance;  /* expiries missed, minus those credited */
	int64_t carry_ns; /* what ended threads have used, minus what their expiries stand for */
	uint64_t ends;	  /* threads that ended */
	uint64_t told_ns; /* their last moments that CARRY_NS has had */
};
static struct account accounts[ACCOUNTS];

static struct account *account_of(const struct cp_cpu_edge *e)
{
	uint64_t hash = e->start * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	return &accounts[e->start ? 1 + hash % (ACCOUNTS - 1) : 0];
}

/* Take up to MOST out of the account, or return its debt. */
static int64_t take_balance(struct account *a, int64_t most)
{
	int64_t balance = cp_load_relaxed(&a->balance), taken;

	do
		taken = balance < most ? balance : most;
	while (taken > 0 && !cp_cas_acqrel(&a->balance, &balance, balance - taken));
	return taken;
}

void cp_cpu_edges_begin(struct cp_cpu_edge *e, uint64_t expiries, uint64_t late)
{
	int64_t taken = take_balance(account_of(e), CREDIT_MOST * (int64_t)(1 + expiries));
	int64_t credit = (int64_t)expiries + taken;

	e->late = late;
	e->taken = taken > 0 ? taken : 0;
	cp_store_relaxed(&e->credit, credit > 0 ? credit : 0);
}

uint64_t cp_cpu_edges_first_tick(struct cp_cpu_edge *e, uint64_t now)
{
	int64_t credit = cp_load_relaxed(&e->credit);
	bool counts = now < e->late;

	cp_store_relaxed(&e->credit, 0);
	cp_add_relaxed(&account_of(e)->balance, counts ? e->taken - credit : e->taken);
	return counts ? (uint64_t)credit : 0;
}

uint64_t cp_cpu_edges_carry(const struct cp_cpu_edge *e, uint64_t missed, int64_t ns,
			    int64_t period)
{
	struct account *a = account_of(e);
	int64_t n = cp_add_relaxed(&a->carry_ns, ns) + ns;

	n = n / period < -(int64_t)missed ? -(int64_t)missed : n / period;
	cp_add_relaxed(&a->carry_ns, -n * period);
	return missed + (uint64_t)n;
}

bool cp_cpu_edges_end(struct cp_cpu_edge *e, uint64_t missed, int64_t most)
{
	struct account *a = account_of(e);
	int64_t back = cp_load_relaxed(&e->credit) ? e->taken : 0;
	bool fits = cp_load_relaxed(&a->balance) + back < most && (int64_t)missed <= most;

	cp_store_relaxed(&a->start, e->start);
	cp_add_relaxed(&a->ends, 1);
	if (!fits)
		missed = 0;
	if (missed || back)
		cp_add_relaxed(&a->balance, (int64_t)missed + back);
	return fits;
}

uint64_t cp_cpu_edges_settle(const struct cp_cpu_edge *e, uint64_t n)
{
	struct account *a = account_of(e);
	int64_t left;

	cp_store_relaxed(&a->start, e->start);
	cp_add_relaxed(&a->balance, (int64_t)n);
	left = take_balance(a, (int64_t)n);
	return left > 0 ? (uint64_t)left : 0;
}

void cp_cpu_edges_tell_last(uint64_t each, uint64_t period, uint64_t random)
{
	for (unsigned i = 0; i < ACCOUNTS; i++) {
		struct account *a = &accounts[i];
		int64_t ns = (int64_t)(cp_load_relaxed(&a->ends) * each - a->told_ns), n;

		if (ns <= 0)
			continue;
		n = (ns + (int64_t)random) / (int64_t)period;
		a->told_ns += (uint64_t)ns;
		cp_add_relaxed(&a->carry_ns, ns - n * (int64_t)period);
		cp_add_relaxed(&a->balance, n);
		cp_count(CP_COUNT_MISSED, (uint64_t)n);
	}
}

uint64_t cp_cpu_edges_take_left(uint64_t *start)
{
	for (unsigned i = 1; i < ACCOUNTS; i++) {
		int64_t left = take_balance(&accounts[i], INT64_MAX);

		*start = cp_load_relaxed(&accounts[i].start);
		if (left > 0)
			return (uint64_t)left;
	}
	return 0;
}

/* Return BALANCE, which counts expiries of FROM ns, as expiries of TO ns, rounded. A period is a
 * second at most. */
static int64_t scaled(int64_t balance, uint64_t from, uint64_t to)
{
	int64_t ns = balance * (int64_t)from, half = (int64_t)to / 2;

	return (ns + (ns < 0 ? -half : half)) / (int64_t)to;
}

void cp_cpu_edges_scale(struct cp_cpu_edge *e, uint64_t from, uint64_t to)
{
	int64_t credit = scaled(e->credit, from, to);

	e->taken = e->taken < e->credit ? scaled(e->taken, from, to) : credit;
	/* Not 0, which would mean that the first tick has come. */
	cp_store_relaxed(&e->credit, e->credit && !credit ? 1 : credit);
}

void cp_cpu_edges_scale_accounts(uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < ACCOUNTS; i++) {
		int64_t seen = cp_load_relaxed(&accounts[i].balance);

		while (seen && !cp_cas_acqrel(&accounts[i].balance, &seen, scaled(seen, from, to)))
			;
	}
}

void cp_cpu_edges_forget(bool (*is_gone)(uint64_t start))
{
	for (unsigned i = 1; i < ACCOUNTS; i++) {
		uint64_t start = cp_load_relaxed(&accounts[i].start);

		if (start && is_gone(start))
			cp_store_relaxed(&accounts[i].start, 0);
	}
}

void cp_cpu_edges_reset(void)
{
	for (unsigned i = 0; i < ACCOUNTS; i++) {
		CP_FORK_CLEAR(&accounts[i].balance);
		CP_FORK_CLEAR(&accounts[i].carry_ns);
		CP_FORK_CLEAR(&accounts[i].ends);
		CP_FORK_CLEAR(&accounts[i].told_ns);
	}
}
