# SPDX-License-Identifier: BSD-3-Clause
# CPROF_HEAP_INTERVAL=1: every site's objects and bytes, allocated and in use, are the truth to the
# byte, with every allocator: two threads, realloc chains, failed calls, blocks of other threads.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"
export CPROF_HEAP_INTERVAL=1

for allocator in $(allocators); do
	use_allocator "$allocator"
	heap_profiled "$allocator" ./tests/e2e/heap-sites exact
	check_status "$allocator" 0
	check_quiet "$allocator"
	check_heap "$work/$allocator.pb" "$work/$allocator.peak.pb"
	sites=0
	while read -r site truth; do
		sites=$((sites + 1))
		got=$(heap_values "$work/$allocator.pb" "(^|;)$site(;|\$)")
		[ "$got" = "$truth" ] || fail "$allocator: $site is $got, not $truth"
	done <"$work/$allocator.out"
	[ "$sites" -ge 3 ] || fail "$allocator: $sites sites"
done
finish
