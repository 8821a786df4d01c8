/* SPDX-License-Identifier: BSD-3-Clause */
/* The registry of threads; see thread.h for the states and ownership. */
#include "sample/sample.h"

#include <string.h>

#include "base/start_data.h"
#include "base/sys.h"

/* A program with a few threads uses only the first chunk, of two pages. A small chunk matters,
 * because each drain looks at all records. */
#define FIRST 8u
#define PER_CHUNK 256u
#define CHUNKS 1024u

uint64_t cp_counters[CP_MODES][CP_COUNTS];
__thread struct cp_self cp_self;

_Static_assert(sizeof(struct cp_self) < 256, "static TLS is scarce");

static struct cp_thread *chunks[CHUNKS];
static uint32_t limit CP_START_DATA; /* number of existing records, in whole chunks */
static uint32_t hint CP_START_DATA;  /* index at which the next search starts: few records before it
					are free */

/* Returns &cp_self. Never inlined, and with a side effect for the compiler, so the access can't be
 * moved. */
__attribute__((noinline)) struct cp_self *cp_thread_self(void)
{
	__asm__ volatile("");
	return &cp_self;
}

struct cp_self *cp_thread_libc_self(void)
{
	return cp_tls_is_libc() ? cp_thread_self() : NULL;
}

/* One part always exists, so that the section exists. */
extern const uint64_t cp_thread_first_part CP_THREAD_PART;
const uint64_t cp_thread_first_part = 0;

static size_t parts_size(void)
{
	return (size_t)(__stop_cp_thread_parts - __start_cp_thread_parts);
}

/* Size of a record with its parts, in whole cache lines. */
static size_t record_size(void)
{
	return (sizeof(struct cp_thread) + parts_size() + 63) & ~(size_t)63;
}

static struct cp_thread *record_in(struct cp_thread *chunk, size_t i)
{
	return (struct cp_thread *)(void *)((char *)chunk + i * record_size());
}

/* A late signal may read a part while it is reset. */
static void reset_parts(struct cp_thread *t)
{
	const uint64_t *from = (const uint64_t *)(const void *)__start_cp_thread_parts;
	uint64_t *to = (uint64_t *)(t + 1);

	for (size_t i = 0; i < parts_size() / sizeof(*to); i++)
		cp_store_relaxed(&to[i], from[i]);
}

static uint32_t chunk_of(uint32_t index)
{
	return index < FIRST ? 0 : 1 + (index - FIRST) / PER_CHUNK;
}

struct cp_thread *cp_thread_at(uint32_t index)
{
	uint32_t n = chunk_of(index);
	struct cp_thread *c;

	if (n >= CHUNKS)
		return NULL;
	/* Acquire: pairs with the publishing exchange in grow. */
	c = cp_load_acquire(&chunks[n]);
	return c ? record_in(c, n ? (index - FIRST) % PER_CHUNK : index) : NULL;
}

uint32_t cp_thread_limit(void)
{
	return cp_load_acquire(&limit);
}

struct cp_thread *cp_thread_of(int tid)
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		if (cp_load_relaxed(&t->tid) == tid && cp_load_acquire(&t->state) == CP_THREAD_LIVE)
			return t;
	}
	return NULL;
}

bool cp_thread_shares_alternate(struct cp_thread *t, uint64_t base, uint64_t size)
{
	cp_store_relaxed(&t->alternate_top, base + size);
	/* Stored before the other records are read. Every thread does this, so one of two threads
	 * sees the other's base. */
	cp_store_seqcst(&t->alternate_base, base);
	for (uint32_t i = 0; base && i < cp_thread_limit(); i++) {
		struct cp_thread *other = cp_thread_at(i);

		if (other != t && cp_load_seqcst(&other->alternate_base) == base &&
		    cp_load_acquire(&other->state) == CP_THREAD_LIVE)
			return true;
	}
	return false;
}

/* Limit of the search, so that unmapping stays fast in programs with thousands of threads. */
#define ALTERNATES_MOST 256u

static bool has_alternate_in(const struct cp_thread *t, uint64_t at, uint64_t size)
{
	uint64_t base = cp_load_seqcst(&t->alternate_base);

	return base && base < at + size && at < cp_load_relaxed(&t->alternate_top) &&
	       !cp_load_relaxed(&t->alternate_left);
}

struct cp_thread *cp_thread_with_alternate(const void *at, uint64_t size, uint32_t *index)
{
	int self = cp_sys_gettid();

	while (*index < cp_thread_limit() && *index < ALTERNATES_MOST) {
		struct cp_thread *t = cp_thread_at((*index)++);
		int tid = cp_load_relaxed(&t->tid);

		/* A thread may have ended since its record was seen last. */
		if (has_alternate_in(t, (uintptr_t)at, size) && tid != self &&
		    cp_load_acquire(&t->state) == CP_THREAD_LIVE &&
		    cp_sys3(SYS_tgkill, cp_sys_getpid(), tid, 0) == 0)
			return t;
	}
	return NULL;
}

/* Adds one chunk after the SEEN records. Another thread may do it first. Returns false without
 * memory. */
static bool grow_records(uint32_t seen)
{
	uint32_t n = chunk_of(seen), count = n ? PER_CHUNK : FIRST;
	size_t size = count * record_size();
	struct cp_thread *c, *none = NULL;

	if (n >= CHUNKS)
		return false;
	c = cp_sys_map(size);
	if (!c)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		record_in(c, i)->index = seen + i;
		reset_parts(record_in(c, i));
	}
	if (!cp_cas_acqrel(&chunks[n], &none, c))
		cp_sys_unmap(c, size);
	cp_cas_acqrel(&limit, &seen, seen + count);
	return true;
}

static void reset(struct cp_thread *t)
{
	/* Field by field: clearing the whole struct would set the state to FREE for a moment, and
	 * another thread could claim the record, too. */
	cp_store_relaxed(&t->tid, 0);
	cp_store_relaxed(&t->paused, 0);
	t->own_tls = t->foreign = t->to_begin = t->named = t->seen = false;
	t->prof_blocked = t->prof_waiting = t->came_blocked = false;
	t->finishing = t->making = false;
	t->unsignalled = 0;
	t->tls = t->stack_low = t->stack_high = t->stack_size = 0;
	t->born = t->gone = 0;
	t->own_cpu_ns = 0;
	t->in_diary = false;
	cp_store_relaxed(&t->alternate_base, 0);
	t->ring = t->hook_ring = NULL;
	t->labels = NULL;
	t->alternate_invalid = false;
	t->start = NULL;
	t->argument = NULL;
	memset(t->name, 0, sizeof(t->name));
}

struct cp_thread *cp_thread_claim(void)
{
	for (;;) {
		uint32_t n = cp_thread_limit(), start = cp_load_relaxed(&hint);

		for (uint32_t i = 0; i < n; i++) {
			struct cp_thread *t = cp_thread_at((start + i) % n);
			uint32_t free = CP_THREAD_FREE;

			if (cp_load_relaxed(&t->state) == CP_THREAD_FREE &&
			    cp_cas_acqrel(&t->state, &free, CP_THREAD_CLAIMED)) {
				/* Unless a lower record was freed meanwhile. */
				cp_cas_acqrel(&hint, &start, t->index + 1);
				reset(t);
				return t;
			}
		}
		if (!grow_records(n))
			return NULL;
	}
}

void cp_thread_free(struct cp_thread *t)
{
	uint32_t seen = cp_load_relaxed(&hint);

	if (!t)
		return;
	cp_labels_free(t->labels);
	t->labels = NULL;
	/* The parts are reset here and not by the next claimer: the collector compares their
	 * numbers, and only the collector frees a record that has any. */
	reset_parts(t);
	/* Release: the next claimer sees the emptied record. */
	cp_store_release(&t->state, CP_THREAD_FREE);
	/* The lowest free record is claimed next: modes keep memory for each number that was ever
	 * in use. */
	while (t->index < seen && !cp_cas_acqrel(&hint, &seen, t->index))
		;
}

void cp_thread_enter(struct cp_thread *t)
{
	t->own_tls = true;
	t->tls = (uint64_t)(uintptr_t)cp_thread_pointer();
	cp_store_relaxed(&t->tid, cp_sys_gettid());
	cp_self.thread = t;
	t->born = cp_ticks_moment();
	cp_store_release(&t->state, CP_THREAD_LIVE);
}

void cp_thread_fork_child(struct cp_thread *keep)
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		/* A free record is empty, and its page is not to be copied for nothing. */
		if (cp_load_relaxed(&t->state) == CP_THREAD_FREE)
			continue;
		/* Unmap the rings, whose contents are the parent's. */
		cp_ring_discard(t->ring);
		cp_ring_discard(t->hook_ring);
		t->ring = t->hook_ring = NULL;
		/* The child inherits no timers, and neither pages nor perf events. */
		t->unsignalled = 0;
		if (t == keep)
			reset_parts(t);
		else
			cp_thread_free(t);
	}
	if (keep)
		cp_store_relaxed(&keep->tid, cp_sys_gettid());
}
