# SPDX-License-Identifier: BSD-3-Clause
# CPROF_HEAP_INTERVAL=1: every site's objects and bytes, allocated and in use, are the truth to the
# byte, with every allocator: two threads, realloc chains, failed calls, blocks of other threads.
. "$srcdir/tests/lib/heap.sh"
export CPROF_HEAP_INTERVAL=1

for allocator in $(allocators); do
	use_allocator "$allocator"
	runs_well heap_profiled "$allocator" ./tests/e2e/heap-sites exact
	check_heap "$work/$allocator.pb" "$work/$allocator.peak.pb"
	sites_are_as_said "$allocator"
done
command -v go >/dev/null || finish
for index in alloc_objects alloc_space inuse_objects inuse_space; do
	go tool pprof -sample_index="$index" -top "$work/glibc.pb" >"$work/top" 2>&1
	grep -q "^Type: $index" "$work/top" && grep -q site_ "$work/top" || fail "go tool pprof, $index: $(cat "$work/top")"
done
finish
