#!/bin/bash
# Trap: a handler of the program jumps out of a sample. The next dlclose waits for walks in flight, but not
# for those that nobody will end.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"

for unwinder in dwarf fp libunwind; do
	CPROF_HEAP_INTERVAL=1 CPROF_UNWIND=$unwinder heap_profiled jumps timeout 30 ./tests/traps/heap-jumps
	check_status jumps 0
	[ "$(cat "$work/jumps.out")" = unloaded ] || fail "$unwinder: other output"
	check_heap "$work/jumps.pb"
done
finish
