#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Trap: where a register of code without frame pointers leads, or a stack of the program's own making, is memory that
# another thread may unmap between the question whether it is there and the look.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
export CPUPROFILE_FREQUENCY=1000 CPROF_HEAP_INTERVAL=1

for unwinder in dwarf fp; do
	for way in own coroutine; do
		name=$way-$unwinder
		HEAPPROFILE="$work/$name.heap.pb" CPROF_UNWIND=$unwinder profiled "$name" ./tests/traps/wild_frame_pointer/host $way 1
		[ "$status" = 77 ] && skip "$(cat "$work/$name.err")"
		check_status "$name" 0
		check_quiet "$name"
		grep -qx done "$work/$name.out" || harm "$name: did not finish"
		check_valid "$work/$name.pb"
		check_valid_as heap "$work/$name.heap.pb"
	done
done
finish
