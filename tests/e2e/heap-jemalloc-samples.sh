# SPDX-License-Identifier: BSD-3-Clause
# A jemalloc after 5.3.1 tells only of the blocks that it samples itself: the profile has these, with jemalloc's own
# interval. If jemalloc doesn't sample, or the program uses its hooks, a line says so. The allocator is a stand-in with
# such a mallctl; heap-jemalloc-static.sh tests a real one (JEMALLOC_LIBRARY).
. "$srcdir/tests/lib/heap.sh"
host=./tests/e2e/heap-jemalloc-samples-host

runs_well heap_profiled samples $host
check_heap "$work/samples.pb"
check_comment "$work/samples.pb" 'jemalloc 5.4.0 tells of the blocks that it samples itself: interval 16384 bytes'
while read -r site objects bytes in_use in_use_bytes; do
	# The variance of a sum is at most the interval times the sum. The host draws the same numbers in each run.
	heap_values "$work/samples.pb" "(^|;)$site(;|\$)" | awk -v o="$objects" -v b="$bytes" -v i="$in_use" -v ib="$in_use_bytes" "$awk_root"'
		function off(got, truth, error) { return got < truth - error || got > truth + error }
		{ error = 5 * root(16384 * b); each = b / o
		  exit off($2, b, error) || off($1, o, error / each) || (ib ? off($4, ib, error) || off($3, i, error / each) : $3 || $4) }' ||
		fail "$site is $(heap_values "$work/samples.pb" "(^|;)$site(;|\$)"), not $objects $bytes $in_use $in_use_bytes"
done <"$work/samples.out"

HOST=idle ends_well heap_profiled idle $host
grep -q "^libcprof: allocations of this program can't be seen: jemalloc 5.4.0 tells of its own samples only: it must run with MALLOC_CONF=prof:true,prof_active:true" "$work/idle.err" ||
	fail "idle says: $(cat "$work/idle.err")"

HOST=taken ends_well heap_profiled taken $host
grep -q 'jemalloc 5.4.0 tells of its own samples only: others use its hooks' "$work/taken.err" ||
	fail "taken says: $(cat "$work/taken.err")"
finish
