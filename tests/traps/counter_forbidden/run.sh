# SPDX-License-Identifier: BSD-3-Clause
# Trap: the program forbids itself the processor's time-stamp counter (PR_SET_TSC): a handler or hook that reads it,
# or asks the vdso for the time, kills the program.
. "$srcdir/tests/lib/lock.sh"
host=./tests/traps/counter_forbidden/host
limit=$bounded
# Not every architecture, and not every kernel, can forbid it.
$host libc >/dev/null || skip "the counter can't be forbidden here"
for how in libc syscall; do
	ends_well bare "bare-$how" $host "$how"

	CPUPROFILE_FREQUENCY=1000 same_as_bare cpu "cpu-$how" $host "$how"
	check_valid "$work/cpu-$how.pb"
	check_stack "$work/cpu-$how.pb" 'burn.*;forbidden'

	# All modes; lock mode's clock is another from then on.
	bare "all-$how" env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/all-$how.cpu.pb" \
		WALLPROFILE="$work/all-$how.wall.pb" HEAPPROFILE="$work/all-$how.heap.pb" \
		CPROF_HEAP_INTERVAL=1 LOCKPROFILE="$work/all-$how.lock.pb" CPUPROFILE_FREQUENCY=1000 \
		$host "$how"
	check_status "all-$how" 0
	check_same_output "all-$how" "bare-$how"
	check_valid "$work/all-$how.cpu.pb"
	check_valid_as lock "$work/all-$how.lock.pb"
	check_valid_as heap "$work/all-$how.heap.pb"
	# Of thirty waits each takes a millisecond.
	waited=$(lock_ns "$work/all-$how.lock.pb" . lock)
	awk -v waited="$waited" 'BEGIN { exit !(waited >= 30e6) }' ||
		fail "$how: 30 waits of 1 ms took $waited ns"
done
finish
