# SPDX-License-Identifier: BSD-3-Clause
# Trap: a realloc that fails leaves its block; one to size 0 frees it; one in place keeps the address.
. "$srcdir/tests/lib/heap.sh"

for allocator in $(allocators); do
	use_allocator "$allocator"
	for interval in 1 64K; do
		CPROF_HEAP_INTERVAL=$interval runs_well heap_profiled failing ./tests/traps/hosts/heap-odd failing
		[ "$(cat "$work/failing.out")" = 0 ] || harm "$allocator: contents are lost"
		read -r _ _ live bytes <<<"$(heap_values "$work/failing.pb" site_failing)"
		[ "$interval" = 1 ] && [ "$(heap_values "$work/failing.pb" site_refused)" != "10 30000 10 30000" ] &&
			fail "$allocator: refused: $(heap_values "$work/failing.pb" site_refused)"
		[ "$live $bytes" = "0 0" ] || fail "$allocator, $interval: $live objects, $bytes bytes in use"
	done
	read -r objects _ <<<"$(heap_values "$work/failing.pb" site_failing)"
	[ "$objects" -gt 0 ] || fail "$allocator: nothing was sampled"
done
finish
