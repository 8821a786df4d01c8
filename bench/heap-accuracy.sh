#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Estimates against the truth: sites of 16 bytes to 64 MiB, one of them mixing small and large, RUNS runs
# over each allocator; the mean of each value, and how many standard errors it is off.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"

for allocator in $(allocators); do
	use_allocator "$allocator"
	: >"$work/all"
	for run in $(seq "${RUNS:-30}"); do
		CPROF_SYMBOLIZE=names CPROF_CHECKPOINT=0 heap_profiled sampled ./tests/e2e/heap-sites sampled
		[ "$run" = 1 ] && cat "$work/sampled.out" >>"$work/all"
		heap_sites "$work/sampled.pb" >>"$work/all"
	done
	echo "$allocator"
	awk -v interval=524288 -v limit=3 -f "$srcdir/tests/lib/heap-error.awk" "$work/all" ||
		echo "more than 3 standard errors off"
done
