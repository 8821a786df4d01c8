# SPDX-License-Identifier: BSD-3-Clause
# Trap: a handler of the program jumps out of a sample. The next dlclose waits for walks in flight, but not for walks
# that will never end. The allocator has no lock that could stay locked.
. "$srcdir/tests/lib/heap.sh"

$CC -O1 -w -fno-builtin -shared -fPIC -o "$work/lockless.so" "$srcdir/tests/traps/hosts/lockless.c" || skip "no compiler"
ALLOCATOR=$work/lockless.so
for unwinder in dwarf fp libunwind; do
	CPROF_HEAP_INTERVAL=1 CPROF_UNWIND=$unwinder ends_well heap_profiled jumps timeout 30 ./tests/traps/heap_handler_jumps_away/host
	[ "$(cat "$work/jumps.out")" = unloaded ] || harm "$unwinder: other output"
	check_heap "$work/jumps.pb"
done
finish
