#!/bin/bash
# Trap: a sampled block, which is larger than the program believes, is deleted with its size when
# nobody looks any longer: after a stop, after a second run in exact mode, in a fork child that is left alone. jemalloc and tcmalloc
# then put it where blocks of that size are.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"

export AGAIN="$work/again.pb" CPROF_HEAP_INTERVAL=64K
for allocator in $(allocators); do
	use_allocator "$allocator"
	for how in stop restart exact fork; do
		CPROF_FOLLOW=$([ $how = fork ] && echo 0 || echo 1) \
			heap_profiled "$how" ./tests/traps/heap-stopped "$how"
		check_status "$how" 0
		[ "$status" = 0 ] || echo "$allocator, $how: $(cat "$work/$how.out")" >&2
		check_quiet "$how"
		check_heap "$work/$how.pb"
	done
done
finish
