# SPDX-License-Identifier: BSD-3-Clause
# Trap: sampled blocks differ from others. The program sees it (calloc's memory isn't zero up to malloc_usable_size, a
# block has more room than others of its size) and acts on it: it reallocates all sampled blocks, and no others.
. "$srcdir/tests/lib/heap.sh"

for allocator in $(allocators); do
	use_allocator "$allocator"
	for what in zeros usable; do
		bare "bare-$what" env LD_PRELOAD="$ALLOCATOR" ./tests/traps/hosts/heap-odd $what
		CPROF_HEAP_INTERVAL=64K heap_profiled $what ./tests/traps/hosts/heap-odd $what
		check_ended $what 0 "bare-$what"
		check_heap "$work/$what.pb"
	done
	# 3,050 samples are expected: a tenth of that is more than chance explains.
	read -r _ _ _ bytes <<<"$(heap_values "$work/usable.pb" site_trimmed)"
	[ "$bytes" -gt 180000000 ] && [ "$bytes" -lt 220000000 ] ||
		fail "$allocator: $bytes bytes in use, not 200000000"
done
finish
