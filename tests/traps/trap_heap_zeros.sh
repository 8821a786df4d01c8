#!/bin/bash
# Trap: what calloc gives isn't zero where the block was asked for with an alignment instead, and has been
# another one before; or not as far as malloc_usable_size tells that it goes.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"

bare plain ./tests/traps/heap-odd zeros
check_status plain 0
for allocator in $(allocators); do
	use_allocator "$allocator"
	for interval in 1 64K 512K; do
		CPROF_HEAP_INTERVAL=$interval heap_profiled zeros ./tests/traps/heap-odd zeros
		check_status zeros 0
		check_quiet zeros
		check_same_output zeros plain
		check_heap "$work/zeros.pb"
	done
done
finish
