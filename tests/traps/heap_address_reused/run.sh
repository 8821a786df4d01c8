# SPDX-License-Identifier: BSD-3-Clause
# Trap: a free that is recorded after the block went back to the allocator: another thread has got the
# address meanwhile, and the wrong block is counted as freed.
. "$srcdir/tests/lib/heap.sh"

for allocator in $(allocators); do
	use_allocator "$allocator"
	CPROF_HEAP_INTERVAL=1 runs_well heap_profiled reuse ./tests/traps/hosts/heap-odd reuse
	got=$(heap_values "$work/reuse.pb" reuser)
	[ "$got" = "80000 160000000 0 0" ] || fail "$allocator: $got, not 80000 160000000 0 0"
	check_comment "$work/reuse.pb" '; 0 frees that were not seen'
done
finish
