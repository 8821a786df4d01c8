#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Trap: calloc's memory isn't zero if the block was requested with an alignment instead, and has been used before; or
# it is not zero as far as malloc_usable_size says that the block goes.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"

bare plain ./tests/traps/hosts/heap-odd zeros
check_status plain 0
for allocator in $(allocators); do
	use_allocator "$allocator"
	for interval in 1 64K 512K; do
		CPROF_HEAP_INTERVAL=$interval heap_profiled zeros ./tests/traps/hosts/heap-odd zeros
		check_status zeros 0
		check_quiet zeros
		check_same_output zeros plain
		check_heap "$work/zeros.pb"
	done
done
finish
