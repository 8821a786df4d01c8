/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for locks, and the unlocks that end them; see lock_signal.h. */
#include "modes/lock/signal/lock_signal.h"

#include "unwind/signal/unwind_signal.h"
#include "base/sys.h"

uint32_t cp_lock_on, cp_lock_holders_on;
uint8_t cp_lock_known[CP_LOCK_KNOWN];
struct cp_lock_state cp_lock_state;
const struct cp_lock_part cp_lock_part = { 0 };

/* Counters for waits of threads without a record: striped, so that most threads don't share a cache
 * line. */
#define STRIPES 64u
static struct {
	struct cp_lock_sum kind[CP_LOCK_BULKS];
} __attribute__((aligned(64))) stripes[STRIPES];

/* Choose a stripe by the stack's address, because a thread may have no libc TLS. Stacks are some
 * pages apart. */
static unsigned stripe(void)
{
	uint64_t at = (uint64_t)(uintptr_t)__builtin_frame_address(0) >> 14;

	return (unsigned)((at * UINT64_C(0x9e3779b97f4a7c15)) >> 58);
}
_Static_assert(STRIPES == 1u << (64 - 58), "hash of a stripe");

static void count_wait(enum cp_lock_bulk bulk, enum cp_lock_kind kind, uint64_t delay)
{
	struct cp_lock_sum *s = &stripes[stripe()].kind[bulk + cp_lock_has_holder(kind)];

	/* Relaxed: the sums are only read, each by itself. */
	cp_add_relaxed(&s->count, 1);
	cp_add_relaxed(&s->delay, delay);
}

struct cp_lock_sum cp_lock_event_counted(enum cp_lock_bulk kind)
{
	struct cp_lock_sum all = { 0, 0 };

	for (unsigned i = 0; i < STRIPES; i++) {
		all.count += cp_load_relaxed(&stripes[i].kind[kind].count);
		all.delay += cp_load_relaxed(&stripes[i].kind[kind].delay);
	}
	return all;
}

bool cp_lock_event_is_self(int tid)
{
	const struct cp_thread *t = cp_self.thread;

	return tid == (t ? cp_load_relaxed(&t->tid) : cp_sys_gettid());
}

/* Return true if the record in TLS is the calling thread's own. A clone that shares its maker's
 * TLS, or a vfork's child, has another thread's record there. */
static bool is_own(const struct cp_thread *t)
{
	return cp_load_relaxed(&t->tid) == cp_sys_gettid();
}

/* Return the calling thread's TLS; NULL if it isn't libc's, as that of a thread that waits by a
 * futex may be. */
static const struct cp_self *self_of(enum cp_lock_kind kind)
{
	return kind == CP_LOCK_FUTEX ? cp_thread_libc_self() : cp_thread_self();
}

/* Return the calling thread's record. A thread that the interposed pthread_create didn't make has
 * the record that the sweep made, or gets one here. After its end, in destructors, it gets none,
 * nor does a clone that waits by a futex in another thread's TLS before the sweep has found it. */
static struct cp_thread *find_self(enum cp_lock_kind kind)
{
	const struct cp_self *self = self_of(kind);
	struct cp_thread *t = self ? self->thread : NULL;

	if (kind == CP_LOCK_FUTEX && t && !is_own(t))
		return cp_thread_of(cp_sys_gettid());
	if (!t && cp_counted(CP_COUNT_FOREIGN_THREADS))
		t = cp_thread_of(cp_sys_gettid());
	if (!t && !(self && self->end_rounds))
		t = cp_lock_state.register_thread();
	return t;
}

/* The locks that libunwind takes while it walks a stack for the profiler are not the program's. */
static bool is_unwinding(enum cp_lock_kind kind)
{
	return kind != CP_LOCK_FUTEX && cp_thread_self()->in_capture;
}

/* No handler may interrupt: it could wait for a lock, too, or jump away. */
static void block_signals(uint64_t *old)
{
	const uint64_t all = CP_SIGSET_ALL;

	cp_sys_sigmask(SIG_SETMASK, &all, old);
}

static void unblock_signals(const uint64_t *old)
{
	cp_sys_sigmask(SIG_SETMASK, old, NULL);
}

void cp_lock_event_know(uint8_t state)
{
	for (unsigned i = 0; i < CP_LOCK_KNOWN; i++)
		cp_store_relaxed(&cp_lock_known[i], state);
}

static void count_short(enum cp_lock_kind kind, uint64_t delay)
{
	struct cp_thread *t = kind == CP_LOCK_FUTEX ? NULL : cp_thread_self()->thread;
	struct cp_lock_sum *s;

	if (!t) {
		count_wait(CP_LOCK_SHORT, kind, delay);
		return;
	}
	s = &cp_lock_part_of(t)->short_waits[cp_lock_has_holder(kind)];
	cp_add_local(&s->count, 1);
	cp_add_local(&s->delay, delay);
}

void cp_lock_event_begin_wait(struct cp_lock_wait *w, const void *lock, enum cp_lock_kind kind)
{
	struct cp_thread *t = cp_lock_has_holder(kind) ? cp_self.thread : NULL;
	struct cp_lock_part *part = t ? cp_lock_part_of(t) : NULL;

	w->lock = lock;
	w->kind = kind;
	w->note.slot = NULL;
	w->after = UINT64_MAX;
	w->began = cp_lock_event_begin();
	if (!part || !cp_load_relaxed(&cp_lock_holders_on) || cp_self.in_capture)
		return;
	/* A handler may have jumped out of a wait that was noted. */
	cp_lock_holder_unnote(&part->note);
	w->after = cp_lock_sample_after(&part->kinds[kind], cp_lock_state.rates);
	cp_lock_holder_note(&w->note, t, lock, w->began, w->after);
	part->note = w->note;
}

/* The most points of a wait that it is divided by. A longer wait is divided by time. */
#define POINTS 16u

/* Put the points of W, which has lasted until ENDED, into *TO. Returns their number; 0: divide the
 * wait by time. */
static unsigned points_of(const struct cp_lock_wait *w, struct cp_lock_part *part, uint64_t ended,
			  uint64_t *to)
{
	uint64_t at = w->began.ns + w->after;
	unsigned n = 0;

	if (!w->after || w->after >= ended - w->began.ns)
		return 0;
	for (; at <= ended && n < POINTS; n++) {
		to[n] = at;
		at += cp_lock_sample_gap(&part->kinds[w->kind], &part->random, cp_lock_state.rates);
	}
	return n < POINTS ? n : 0;
}

/* Report W, which represents WEIGHT waits and ended at ENDED, to the holders. Returns the thread
 * that ended it, or 0. */
static uint64_t tell_holders(struct cp_thread *t, const struct cp_lock_wait *w, uint64_t ended,
			     double weight, bool got)
{
	struct cp_record none = { .depth = 0, .end = CP_UNWIND_COMPLETE };
	struct cp_event e = { .mode = CPROF_LOCK_HOLDERS, .tag = (uint64_t)(uintptr_t)w->lock };
	uint64_t points[POINTS];
	struct cp_lock_waited waited = { w->lock, w->began.ns, ended, points, 0, got, weight, 0 };
	double unknown;

	waited.count = points_of(w, cp_lock_part_of(t), ended, points);
	waited.points = waited.count ? points : NULL;
	unknown = cp_lock_holder_divide(&waited, cp_thread_who(t)) * weight;
	e.count = cp_lock_holder_count((uint64_t)(unknown * CP_LOCK_HOLDER_WAIT + 0.5), 1 / weight);
	e.weight = (uint64_t)(unknown * (double)(ended - w->began.ns) + 0.5);
	if (e.weight)
		cp_capture_put(t, &e, &none);
	return waited.ender;
}

/* Record W, which represents WEIGHT waits. */
__attribute__((noinline)) static void record(struct cp_thread *t, const struct cp_lock_wait *w,
					     uint64_t ended, const void *function, double weight,
					     bool got)
{
	struct cp_event e = { .mode = CPROF_LOCK,
			      .weight = ended - w->began.ns,
			      .tag = cp_lock_tag(w->lock, w->kind) };
	struct cp_regs regs = { 0 };
	uint64_t mask, began;

	if (!is_own(t))
		return;
	began = cp_timing_begin();
	memcpy(&e.count, &weight, sizeof(weight));
	block_signals(&mask);
	cp_regs_here(&regs);
	if (cp_lock_has_holder(w->kind) && cp_load_relaxed(&cp_lock_holders_on))
		e.more = tell_holders(t, w, ended, weight, got);
	cp_capture_hook(t, &e, &regs, function);
	unblock_signals(&mask);
	cp_timing_end(CPROF_LOCK, began);
}

void cp_lock_event_waited(const struct cp_lock_wait *w, const void *function, bool got)
{
	uint64_t ended = cp_lock_end(w->began), delay = ended - w->began.ns;
	struct cp_lock_part *part;
	struct cp_thread *t;
	double weight;

	cp_lock_holder_unnote(&w->note);
	if (!cp_load_relaxed(&cp_lock_on) || is_unwinding(w->kind))
		return;
	if (delay < cp_load_relaxed(&cp_lock_state.threshold_ns)) {
		count_short(w->kind, delay);
		return;
	}
	t = find_self(w->kind);
	if (!t) {
		count_wait(CP_LOCK_LOST, w->kind, delay);
		return;
	}
	if (cp_load_relaxed(&t->paused)) {
		cp_count_mode(CPROF_LOCK, CP_COUNT_LOST_PAUSED, 1);
		return;
	}
	part = cp_lock_part_of(t);
	weight = cp_lock_sample_wait(&part->kinds[w->kind], &part->random, ended, delay,
				     cp_lock_state.rates);
	if (weight > 0)
		record(t, w, ended, function, weight, got);
	cp_lock_sample_count(&part->kinds[w->kind], delay);
}

void cp_lock_event_release_begin(struct cp_lock_release *r, const void *lock)
{
	struct cp_thread *t = cp_self.in_capture ? NULL : cp_self.thread;

	*r = (struct cp_lock_release){ .lock = lock };
	r->wanted = t && cp_lock_holder_open(t, &cp_lock_part_of(t)->credit, lock, &r->holder);
}

/* Frames of functions that unlock by a tail call. */

static uint64_t called_before(uint64_t ra)
{
	bool stable;
	unsigned phase = cp_gate_enter(&stable);
	uint64_t called = cp_cfi_code_called(ra, !stable);

	cp_gate_leave(phase);
	return called;
}

static void insert_frame(struct cp_record *record, unsigned at, uint64_t pc, unsigned depth)
{
	if (record->depth < depth)
		record->depth++;
	else
		record->end = CP_UNWIND_TRUNCATED;
	for (unsigned i = record->depth - 1u; i > at; i--)
		record->pcs[i] = record->pcs[i - 1];
	record->pcs[at] = pc;
}

void cp_lock_event_tail(const struct cp_lock_unlock_call *call, struct cp_record *record,
			unsigned depth)
{
	uint64_t caller = (uint64_t)(uintptr_t)call->caller - 1, pc;
	unsigned at = 1;

	if (!call->function)
		return;
	/* The profiler's frames come first. */
	while (at < record->depth && record->pcs[at] != caller)
		at++;
	if (at >= record->depth)
		return;
	pc = called_before(caller + 1);
	if (pc && pc != (uint64_t)(uintptr_t)call->function)
		insert_frame(record, at, pc, depth);
}

/* Put the stack into the record of R's entry. All signals are blocked. Without a stack, the thread
 * is one without a record, in this thread's TLS, or it is paused. */
static void take_stack(struct cp_thread *t, const struct cp_lock_release *r, const void *function)
{
	struct cp_record *record = cp_lock_holder_record(r->holder);
	struct cp_regs regs = { 0 };

	record->mode = CPROF_LOCK_HOLDERS;
	cp_regs_here(&regs);
	if (cp_load_relaxed(&t->paused) ||
	    !cp_capture_stack(t, &regs, record, CP_LOCK_HOLDER_DEPTH))
		return;
	record->pcs[0] = (uint64_t)(uintptr_t)function;
	cp_lock_event_tail(&r->call, record, CP_LOCK_HOLDER_DEPTH);
	cp_lock_part_of(t)->holds = 1;
}

__attribute__((noinline)) static void
close_entry(struct cp_thread *t, const struct cp_lock_release *r, const void *function, bool done)
{
	uint64_t mask, began = cp_timing_begin();

	bool own = is_own(t);

	block_signals(&mask);
	if (r->holder && done && own)
		take_stack(t, r, function);
	if (r->holder)
		cp_lock_holder_close(r->holder, done);
	if (own)
		cp_lock_holder_make_room(t, r->lock);
	unblock_signals(&mask);
	cp_timing_end(CPROF_LOCK_HOLDERS, began);
}

void cp_lock_event_release_end(struct cp_lock_release *r, const void *function, bool done)
{
	if (r->wanted)
		close_entry(cp_self.thread, r, function, done);
}

void cp_lock_event_thread_end(struct cp_thread *t)
{
	cp_lock_holder_unnote(&cp_lock_part_of(t)->note);
}
