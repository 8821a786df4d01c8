#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Trap: memory is short: there is some for what the program asks for, and none for the larger block that a sample
# is. The allocation fails, throws, asks the program's handler; or it doesn't, and errno says that it did.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"
limit=$bounded

for allocator in $(allocators); do
	use_allocator "$allocator"
	bare plain env LD_PRELOAD="$ALLOCATOR" ./tests/traps/heap_short_memory/host
	check_status plain 0
	! grep -v ' 0 failed, 0 asked the handler, 0 changed errno$' "$work/plain.out" ||
		fail "$allocator: that is so without us"
	CPROF_HEAP_INTERVAL=64K heap_profiled short ./tests/traps/heap_short_memory/host
	check_status short 0
	check_same_output short plain
	diff "$work/plain.out" "$work/short.out"
done
finish
