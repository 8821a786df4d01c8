# SPDX-License-Identifier: BSD-3-Clause
# Trap: a fork child frees blocks of its parent. Neither profile is wrong for it: the parent's has them
# in use, the child's has only what the child allocated.
. "$srcdir/tests/lib/heap.sh"

for allocator in $(allocators); do
	use_allocator "$allocator"
	CPROF_HEAP_INTERVAL=1 runs_well heap_profiled forked ./tests/traps/hosts/heap-odd fork
	got=$(heap_values "$work/forked.pb" site_parents)
	[ "$got" = "2000 3999000 2000 3999000" ] || fail "$allocator, parent: $got"
	child=$(ls "$work"/forked.pb.* | head -n 1)
	check_heap "$child"
	got=$(heap_values "$child" site_parents)
	[ "$got" = "0 0 0 0" ] || fail "$allocator, child: $got of the parent's"
	got=$(heap_values "$child" '^forked;')
	[ "$got" = "10 30000 10 30000" ] || fail "$allocator, child: $got"
done
finish
