# SPDX-License-Identifier: BSD-3-Clause
# Trap: allocations before main, in destructors of threads' keys, in fork handlers, at exit and after our
# own destructor. They work, and those that come while the profile is kept are in it.
. "$srcdir/tests/lib/heap.sh"

limit=$bounded
for interval in 1 512K; do
	for allocator in $(allocators); do
		use_allocator "$allocator"
		CPROF_HEAP_INTERVAL=$interval runs_well heap_profiled times ./tests/traps/hosts/heap-odd times
		check_heap "$work/times.pb"
		[ "$interval" = 1 ] || continue
		read -r objects _ <<<"$(heap_values "$work/times.pb" 'destroy')"
		[ "$objects" -ge 150 ] || fail "$allocator: $objects objects of the keys' destructors"
	done
done
finish
