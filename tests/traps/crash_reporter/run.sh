# SPDX-License-Identifier: BSD-3-Clause
# A crash handler, on an alternate stack of a few KiB, starts another program: the profiler's additions to its fork
# and exec have room there.
. "$srcdir/tests/lib/e2e.sh"
need timeout
ulimit -c 0
limit=$bounded
for kind in fork vfork spawn 'fork 1000' 'spawn 1000'; do
	label=${kind// /-}
	# shellcheck disable=SC2086
	bare "$label-bare" ./tests/traps/crash_reporter/host $kind
	check_status "$label-bare" 7
	# shellcheck disable=SC2086
	WALLPROFILE="$work/$label.wall.pb" HEAPPROFILE="$work/$label.heap.pb" LOCKPROFILE="$work/$label.lock.pb" \
		profiled "$label" ./tests/traps/crash_reporter/host $kind
	check_status "$label" 7
	check_quiet "$label"
	check_valid "$work/$label.pb"
done
finish
