#!/bin/bash
# Trap: a handler of the program jumps out of a sample. The next dlclose waits for walks in flight, but not
# for those that nobody will end. The allocator is one that has no lock to be left behind.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"

$CC -O1 -w -fno-builtin -shared -fPIC -o "$work/lockless.so" "$srcdir/tests/traps/lockless.c" || skip "no compiler"
ALLOCATOR=$work/lockless.so
for unwinder in dwarf fp libunwind; do
	CPROF_HEAP_INTERVAL=1 CPROF_UNWIND=$unwinder heap_profiled jumps timeout 30 ./tests/traps/heap-jumps
	check_status jumps 0
	[ "$(cat "$work/jumps.out")" = unloaded ] || fail "$unwinder: other output"
	check_heap "$work/jumps.pb"
done
finish
