# SPDX-License-Identifier: BSD-3-Clause
# At the default interval, sites of 16 bytes to 64 MiB, one of them mixing small and large: the mean of
# 30 runs is the truth, within 5 standard errors (one false alarm in 50,000). bench/accuracy.sh
# prints the same for every allocator.
. "$srcdir/tests/lib/heap.sh"

runs=30
for run in $(seq $runs); do
	CPROF_SYMBOLIZE=names CPROF_CHECKPOINT=0 runs_well heap_profiled sampled ./tests/e2e/heap-sites sampled
	[ "$run" = 1 ] && { cat "$work/sampled.out"; check_heap "$work/sampled.pb"; } >>"$work/all"
	heap_sites "$work/sampled.pb" >>"$work/all"
done
awk -v interval=524288 -v limit=5 -f "$srcdir/tests/lib/heap-error.awk" "$work/all" ||
	fail "the estimates are biased"
finish
