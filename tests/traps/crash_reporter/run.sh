# SPDX-License-Identifier: BSD-3-Clause
# A crash handler, on an alternate stack of a few KiB, starts another program: the profiler's additions to its fork
# and exec have room there.
. "$srcdir/tests/lib/e2e.sh"
ulimit -c 0
limit=$bounded
for kind in fork vfork spawn 'fork 1000' 'spawn 1000'; do
	label=${kind// /-}
	bare "$label-bare" ./tests/traps/crash_reporter/host $kind
	check_status "$label-bare" 7
	WALLPROFILE="$work/$label.wall.pb" HEAPPROFILE="$work/$label.heap.pb" LOCKPROFILE="$work/$label.lock.pb" \
		profiled "$label" ./tests/traps/crash_reporter/host $kind
	check_ended_valid "$label" 7
done
finish
