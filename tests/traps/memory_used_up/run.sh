# SPDX-License-Identifier: BSD-3-Clause
# Trap: the program has used up its limit of address space or of data when its profiles are due: no profile could be
# written. Each is there, with names, and nothing is said.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
host=./tests/traps/memory_used_up/host
export CPUPROFILE_FREQUENCY=1000 CPROF_HEAP_INTERVAL=64K

for case in 'as exit' 'data exit' 'both abort'; do
	at=${case/ /-}
	export WALLPROFILE="$work/$at.wall.pb" HEAPPROFILE="$work/$at.heap.pb" LOCKPROFILE="$work/$at.lock.pb" IOPROFILE="$work/$at.io.pb"
	bare plain $host $case
	expected=$status
	profiled "$at" $host $case
	check_ended_valid "$at" "$expected" plain
	check_stack "$work/$at.pb" 'before_the_limit;'
	for mode in wall heap heap.peak lock io; do
		check_valid_as ${mode%%.*} "$work/$at.$mode.pb"
	done
	check_stack "$work/$at.heap.pb" 'before_the_limit;'
done
finish
