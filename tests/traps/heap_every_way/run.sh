# SPDX-License-Identifier: BSD-3-Clause
# Trap: an entry point is missing (valloc, reallocarray, free_sized, an operator new that calls no malloc,
# mallocx, ...), or one calls another and is counted twice. Each way to allocate with each way to free:
# exactly one allocation and one free is counted, over every allocator. Then the same at an interval where
# sampled blocks are in the filter, and at one where all addresses are looked up: the blocks do what they
# promise, and nothing is in use at the end.
. "$srcdir/tests/lib/heap.sh"

for allocator in $(allocators); do
	use_allocator "$allocator"
	without=
	[[ $allocator == *jemalloc* ]] && without=pvalloc
	status=0
	LD_PRELOAD=$ALLOCATOR ./tests/e2e/heap-matrix 2 $without >"$work/bare.out" 2>"$work/bare.err" || status=$?
	check_status bare 0

	CPROF_HEAP_INTERVAL=1 runs_well heap_profiled exact ./tests/e2e/heap-matrix 2 $without
	check_heap "$work/exact.pb"
	heap_sites "$work/exact.pb" >"$work/sites"
	ways=0
	while read -r site objects bytes; do
		ways=$((ways + 1))
		got=$(sed -n "s/^run $site //p" "$work/sites")
		[ "$got" = "$objects $bytes 0 0" ] || fail "$allocator: $site is $got, not $objects $bytes 0 0"
	done <"$work/exact.out"
	[ "$ways" -ge 17 ] || fail "$allocator: $ways ways"

	for interval in 64K 3000; do
		CPROF_HEAP_INTERVAL=$interval runs_well heap_profiled sampled ./tests/e2e/heap-matrix 30 $without
		check_heap "$work/sampled.pb"
		read -r objects _ left left_bytes <<<"$(heap_values "$work/sampled.pb" 'site_|chain')"
		[ "$objects" -gt 1000 ] || fail "$allocator, $interval: $objects objects"
		[ "$left $left_bytes" = "0 0" ] || fail "$allocator, $interval: $left objects, $left_bytes bytes are left"
	done
done
finish
