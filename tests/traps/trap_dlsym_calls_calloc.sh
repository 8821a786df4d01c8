#!/bin/bash
# Trap: dlsym calls calloc before the real calloc is known; a program whose allocator asks
# dlsym for the next one recurses, or deadlocks in the loader.
. "$srcdir/tests/lib/e2e.sh"
export CPUPROFILE_FREQUENCY=1000

bare plain ./tests/traps/own-malloc
check_status plain 0
for unwinder in dwarf fp libunwind; do
	CPROF_UNWIND=$unwinder profiled "$unwinder" ./tests/traps/own-malloc
	check_status "$unwinder" 0
	check_quiet "$unwinder"
	check_same_output "$unwinder" plain
	check_valid "$work/$unwinder.pb"
	check_top "$work/$unwinder.pb" 2 allocate
done
finish
