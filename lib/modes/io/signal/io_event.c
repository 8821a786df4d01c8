/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures, counts and samples calls; see io_signal.h. */

#include "base/sys.h"
#include "modes/io/signal/io_signal.h"
#include "sample/lock_clock.h"

uint32_t cp_io_active = CP_IO_EARLY;
struct cp_io_state cp_io_state;

extern const struct cp_io_thread cp_io_thread_part CP_THREAD_PART;
const struct cp_io_thread cp_io_thread_part = { 0 };

/* Mostly the counter is forbidden from the start or never. If the program forbids it later, ticks
 * go on at the rate that is known, so a call that began before has its length. */
uint64_t cp_io_event_clock(void)
{
	uint64_t ns = cp_lock_now(), rate = cp_load_relaxed(&cp_lock_clock.rate), since;

	if (cp_io_state.by_clock || !rate)
		return ns;
	/* A rate is below 2^32 ns, so the remainder has room. */
	since = ns - cp_io_state.since_ns;
	return cp_io_state.since + ((since / rate) << 32) + ((since % rate) << 32) / rate;
}

/* Record the stack. A call whose stack is lost is part of its cell's sums like one that wasn't
 * chosen. All signals are blocked. The thread whose record is in TLS is another one in a
 * vfork's child, and in a clone that shares its maker's TLS. */
__attribute__((noinline)) static void record(struct cp_thread *t, const struct cp_io_call *c,
					     uint64_t ticks, uint64_t weight)
{
	const struct cp_event e = { .mode = CPROF_IO,
				    .count = weight,
				    .weight = cp_io_sample_weigh(ticks, weight),
				    .more = c->bytes,
				    .tag = CP_IO_TAG(c->op, c->kind, c->error & 4095,
						     cp_io_target_of(c, cp_io_state.target)) };
	struct cp_regs regs = { 0 };
	uint64_t began;

	if (cp_load_relaxed(&t->tid) != cp_sys_gettid())
		return;
	began = cp_timing_begin();
	cp_regs_here(&regs);
	cp_capture_hook(t, &e, &regs, c->function);
	cp_timing_end(CPROF_IO, began);
}

/* The rate of the counter is known roughly a tenth of a second after the start. */
static void learn_rate(void)
{
	uint64_t ms = cp_load_relaxed(&cp_lock_clock.ms);

	if (!ms || cp_io_state.by_clock || cp_load_relaxed(&cp_io_state.rates.second) == ms * 1000)
		return;
	cp_store_relaxed(&cp_io_state.rates.second, ms * 1000);
}

/* A point was reached, or a period is over. */
__attribute__((noinline)) static void sample(struct cp_thread *t, const struct cp_io_call *c,
					     uint64_t now)
{
	struct cp_io_thread *mine = cp_thread_part(t, &cp_io_thread_part);
	struct cp_io_cell *cell = &mine->block->cell[c->op][c->kind];
	struct cp_io_sampler *s = cell->delays ? &cell->delays->sampler : NULL;
	const uint64_t all = CP_SIGSET_ALL, ticks = now - c->began;
	const uint64_t call[CP_IO_SUMS] = { 1, ticks, c->bytes, c->error != 0 };
	uint64_t sums[CP_IO_SUMS], weight = 0, mask;
	double room;

	cp_sys_sigmask(SIG_SETMASK, &all, &mask);
	learn_rate();
	if (!mine->random)
		mine->random = cp_poisson_seed((uint64_t)(uintptr_t)mine ^ (uint64_t)now << 20,
					       (uint64_t)cp_load_relaxed(&t->tid));
	for (unsigned i = 0; i < CP_IO_SUMS; i++)
		sums[i] = cp_load_relaxed(&cell->sums[i]);
	if (s && !s->since)
		cp_io_sample_begin(s, cp_io_counts_recent[c->op][c->kind], now);
	room = t->hook_ring ? cp_ring_free(t->hook_ring, cp_capture_settings.max_depth) : 1;
	if (s)
		weight = cp_io_sample_take(s, &cell->points, &mine->random, &cp_io_state.rates,
					   sums, call, now, room);
	if (weight)
		record(t, c, ticks, weight);
	cp_sys_sigmask(SIG_SETMASK, &mask, NULL);
}

/* Count a call of a thread without a record: it has no stack. */
static void count_without_record(const struct cp_io_call *c, uint64_t ticks)
{
	struct cp_io_cell *cell = &cp_io_counts_others.cell[c->op][c->kind];

	cp_io_counts_begin(&cp_io_counts_others, c->op, c->kind);
	cp_add_relaxed(&cell->sums[CP_IO_CALLS], 1);
	cp_add_relaxed(&cell->sums[CP_IO_TICKS], ticks);
	cp_add_relaxed(&cell->sums[CP_IO_BYTES], c->bytes);
	cp_add_relaxed(&cell->sums[CP_IO_ERRORS], c->error != 0);
}

/* Return the calling thread's record. A thread that the interposed pthread_create didn't make has
 * the record that the sweep made, or gets one here. After its end, in destructors, it gets none. */
__attribute__((noinline)) static struct cp_thread *find_self(const struct cp_self *self)
{
	struct cp_thread *t = self ? self->thread : NULL;

	if (!t && cp_counted(CP_COUNT_FOREIGN_THREADS))
		t = cp_thread_of(cp_sys_gettid());
	if (!t && !(self && self->end_rounds))
		t = cp_io_state.register_thread();
	return t;
}

void cp_io_event_settle(const struct cp_io_call *c, uint64_t now)
{
	sample(cp_self.thread, c, now);
}

static void account(struct cp_thread *t, const struct cp_io_call *c, uint64_t now)
{
	struct cp_io_thread *mine = cp_thread_part(t, &cp_io_thread_part);
	uint64_t ticks = now - c->began;
	struct cp_io_block *b = cp_load_relaxed(&mine->block);
	struct cp_io_cell *cell;

	if (cp_load_relaxed(&t->paused) != 0) {
		cp_count_mode(CPROF_IO, CP_COUNT_LOST_PAUSED, 1);
		return;
	}
	if (!b) {
		b = cp_io_counts_block(t->index);
		if (!b) {
			count_without_record(c, ticks);
			return;
		}
		/* Before its first count: io_rows.c. */
		cp_add_seqcst(&b->threads, 1);
	}
	cell = &b->cell[c->op][c->kind];
	cp_io_hot_count(cell, cp_io_counts_begin(b, c->op, c->kind), ticks, c->bytes,
			c->error != 0);
	cp_store_relaxed(&mine->block, b);
	if (!cp_io_hot_passes(cell, now))
		sample(t, c, now);
}

/* SELF is the thread's TLS, or NULL if the TLS isn't libc's. */
static inline __attribute__((always_inline)) void ended(const struct cp_io_call *call,
							const struct cp_self *self)
{
	struct cp_io_call c = *call;
	uint64_t now = cp_io_event_now();
	struct cp_thread *t = self ? self->thread : NULL;

	if (!(cp_load_relaxed(&cp_io_active) & CP_IO_ON))
		return;
	/* The profiler causes the call: libunwind reads while it walks a stack, and the profiler
	 * calls libc for a thread or a library. */
	if (self && (self->in_capture || self->heap.guard))
		return;
	if (c.began < cp_io_state.since)
		c.began = cp_io_state.since;
	/* A call takes at least a tick, because its measure must not be 0. */
	if (now <= c.began)
		now = c.began + 1;
	if (__builtin_expect(!t, 0))
		t = find_self(self);
	if (__builtin_expect(t != NULL, 1))
		account(t, &c, now);
	else
		count_without_record(&c, now - c.began);
}

void cp_io_event_ended(const struct cp_io_call *c)
{
	ended(c, &cp_self);
}

void cp_io_event_ended_anywhere(const struct cp_io_call *c)
{
	ended(c, cp_thread_libc_self());
}
