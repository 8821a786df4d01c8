/* Registry of threads; see thread.h for the states and who owns what. */
#include "sigsafe/thread.h"

#include <string.h>

#include "sigsafe/atomic.h"
#include "sigsafe/counters.h"
#include "sigsafe/labels.h"
#include "sigsafe/ring.h"
#include "sigsafe/sys.h"

/* A program with a few threads has the first chunk only, of two pages: each drain looks at all
 * records that there are. */
#define FIRST 8u
#define PER_CHUNK 256u
#define CHUNKS 1024u

uint64_t cp_counters[CP_MODES][CP_COUNTS];
__thread struct cp_self cp_self;

_Static_assert(sizeof(struct cp_self) < 256, "static TLS is scarce");

static struct cp_thread *chunks[CHUNKS];
static uint32_t limit; /* records that exist, in whole chunks */
static uint32_t hint;  /* where the next search starts */

/* Called, never inline, and for the compiler not without effect. */
__attribute__((noinline)) struct cp_self *cp_thread_self(void)
{
	__asm__ volatile("");
	return &cp_self;
}

struct cp_self *cp_thread_libc_self(void)
{
	return cp_tls_is_libc() ? cp_thread_self() : NULL;
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
	return c ? &c[n ? (index - FIRST) % PER_CHUNK : index] : NULL;
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

/* One more chunk behind the SEEN records; another thread may do it first. */
static bool grow(uint32_t seen)
{
	uint32_t n = chunk_of(seen), count = n ? PER_CHUNK : FIRST;
	size_t size = count * sizeof(struct cp_thread);
	struct cp_thread *c, *none = NULL;

	if (n >= CHUNKS)
		return false;
	c = cp_sys_map(size);
	if (!c)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		c[i].index = seen + i;
		c[i].timer = c[i].wall.timer = CP_NO_TIMER;
	}
	if (!cp_cas_acqrel(&chunks[n], &none, c))
		cp_sys_unmap(c, size);
	cp_cas_acqrel(&limit, &seen, seen + count);
	return true;
}

static void reset(struct cp_thread *t)
{
	/* Field by field: were the whole struct cleared, the state would read as FREE for a
	 * moment, and somebody else could claim the record, too. */
	cp_store_relaxed(&t->tid, 0);
	cp_store_relaxed(&t->paused, 0);
	t->own_tls = t->foreign = t->met = t->named = t->seen = false;
	t->prof_blocked = t->prof_waiting = false;
	t->finishing = t->making = false;
	cp_store_relaxed(&t->timer, CP_NO_TIMER);
	t->wall = (struct cp_wall_thread){ .timer = CP_NO_TIMER };
	t->first_due = t->expiries = 0;
	memset(t->names, 0, sizeof(t->names));
	t->perf.pages = t->perf.past = NULL;
	t->perf.fd = -1;
	t->perf.busy = 0;
	t->stack_low = t->stack_high = t->stack_size = 0;
	t->ring = t->hook_ring = NULL;
	t->labels = NULL;
	memset(&t->waits, 0, sizeof(t->waits));
	memset(&t->unlocks, 0, sizeof(t->unlocks));
	t->holders = NULL;
	t->later.state = CP_LOCK_LATER_NONE;
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
				cp_store_relaxed(&hint, t->index + 1);
				reset(t);
				return t;
			}
		}
		if (!grow(n))
			return NULL;
	}
}

void cp_thread_free(struct cp_thread *t)
{
	if (!t)
		return;
	cp_labels_free(t->labels);
	t->labels = NULL;
	/* Release: the next claimer sees the emptied record. */
	cp_store_release(&t->state, CP_THREAD_FREE);
}

void cp_thread_enter(struct cp_thread *t)
{
	t->own_tls = true;
	cp_store_relaxed(&t->tid, cp_sys_gettid());
	cp_self.thread = t;
	cp_store_release(&t->state, CP_THREAD_LIVE);
}

void cp_thread_fork_child(struct cp_thread *keep)
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		/* Rings are let go unmapped-but-unused: their contents are the parent's. */
		cp_ring_discard(t->ring);
		cp_ring_discard(t->hook_ring);
		t->ring = t->hook_ring = NULL;
		t->timer = CP_NO_TIMER;
		/* Not mapped here: neither page nor event is inherited. */
		t->perf.pages = t->perf.past = NULL;
		t->perf.busy = 0;
		t->wall = (struct cp_wall_thread){ .timer = CP_NO_TIMER };
		memset(t->names, 0, sizeof(t->names));
		if (t == keep)
			continue;
		cp_thread_free(t);
	}
	if (keep)
		cp_store_relaxed(&keep->tid, cp_sys_gettid());
}
