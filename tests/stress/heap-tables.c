/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap mode's shared structures under many threads, for ThreadSanitizer and AddressSanitizer,
 * which the interposed library itself can't run under: the depot, the table of live blocks, the
 * scratch buffers, as heap_event.c uses them.
 *
 *     heap-tables SECONDS
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "modes/heap/signal/stack_depot.h"
#include "modes/heap/signal/heap_signal.h"
#include "sample/sample.h"
#include "modes/heap/signal/stack_cache.h"

#define THREADS 8
#define OWNERS 4 /* of them have entries of their own */
#define SLOTS 4096

static uint64_t slots[SLOTS]; /* addresses that any thread may free */
static __thread uint8_t shard;
static uint32_t stop;
static uint64_t next_address = UINT64_C(0x550000000000);

static void record(uint64_t address, uint64_t *x)
{
	static __thread uint16_t last;
	struct cp_unwind_buffer *s = cp_heap_stack_take_buffer(&last);
	struct cp_live_block b = { *x >> 50, 0 }, old;
	struct cp_stack_depot_entry *e;
	unsigned depth = 1 + (unsigned)(*x >> 40) % 30;

	if (!s)
		abort();
	for (unsigned i = 0; i < depth; i++)
		s->pcs[i] = (*x >> 30 & 63) * 100 + i;
	e = cp_stack_depot_find(
		&(struct cp_stack_depot_key){ .pcs = s->pcs,
					      .hash = cp_tail_cache_hash_of(s->pcs, depth),
					      .depth = depth,
					      .shard = shard,
					      .interval = 1 });
	cp_heap_stack_give_buffer(s);
	if (!e)
		abort();
	b.id = e->id;
	if (!cp_live_insert(address, &b, &old) || old.id)
		abort();
	if (shard)
		cp_stack_depot_allocated_own(e, 1, b.size);
	else
		cp_stack_depot_allocated(e, 1, b.size);
}

static void forget(uint64_t address)
{
	struct cp_stack_depot_entry *e;
	struct cp_live_block b;

	if (!cp_live_remove(address, &b))
		abort();
	e = cp_stack_depot_at(b.id);
	if (shard && e->shard == shard)
		cp_stack_depot_freed_own(e, 1, b.size);
	else
		cp_stack_depot_freed(e, 1, b.size);
}

static void *work(void *arg)
{
	uint64_t x = (uintptr_t)arg * 7919 + 1;

	shard = (uint8_t)((uintptr_t)arg < OWNERS ? (uintptr_t)arg + 1 : 0);
	for (unsigned round = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); round++) {
		uint64_t address, old;

		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		address = __atomic_fetch_add(&next_address, 16, __ATOMIC_RELAXED);
		record(address, &x);
		/* As a program hands a block over. */
		old = __atomic_exchange_n(&slots[x >> 52], address, __ATOMIC_ACQ_REL);
		if (old)
			forget(old);
		if (round % 5000 == 0)
			cp_stack_depot_mark_peak();
		/* Two at a time, as by dlcloses of two threads; some take stacks with them. */
		if ((uintptr_t)arg < 2 && round % 50000 == 49999)
			cp_stack_depot_retire(x >> 30 & 8191, (x >> 30 & 8191) + 3);
		if (arg == NULL && round % 1000000 == 999999)
			cp_stack_depot_next_epoch();
	}
	return NULL;
}

static struct cp_stack_depot_amount in_use;

static void sum(struct cp_stack_depot_entry *e, void *arg)
{
	struct cp_stack_depot_amount a = cp_stack_depot_in_use(e), peak = cp_stack_depot_at_peak(e);

	(void)arg;
	(void)peak;
	in_use.objects += a.objects;
	in_use.bytes += a.bytes;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	/* The collector, while they run. */
	while (time(NULL) < end) {
		cp_stack_depot_take_fresh();
		cp_stack_depot_each(0, sum, NULL);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (unsigned i = 0; i < SLOTS; i++)
		if (slots[i])
			forget(slots[i]);
	cp_stack_depot_take_fresh();
	in_use = (struct cp_stack_depot_amount){ 0, 0 };
	cp_stack_depot_each(0, sum, NULL);
	printf("%llu objects, %llu bytes left\n", (unsigned long long)in_use.objects,
	       (unsigned long long)in_use.bytes);
	return in_use.objects || in_use.bytes;
}
