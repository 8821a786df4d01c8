# SPDX-License-Identifier: BSD-3-Clause
# The things that the kernel ends when a process closes a descriptor stay, although the profiler's task leaves the
# program's table of descriptors when it starts: a message queue's notification, dnotify, leases, locks.
. "$srcdir/tests/lib/e2e.sh"
need taskset chrt
limit=$bounded
host=./tests/traps/closings/host
# On one processor, where no task runs before another that is running, the profiler's task begins when the program
# first waits.
cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
mkdir "$work/files"
bare bare "$host" "$work/files" start
[ "$status" != 77 ] || skip "no message queues here"
check_status bare 0
for how in start setuid threads number; do
	for pin in "chrt -b 0 taskset -c $cpu" env; do
		rm -f "$work/files/new"
		CPROF_CHECKPOINT=20ms profiled "$how" $pin "$host" "$work/files" "$how"
		check_ended_valid "$how" 0 bare
	done
done
# The wall clock needs a task in a fork's child, too.
for pin in "chrt -b 0 taskset -c $cpu" env; do
	runs_well bare children env LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/children.pb" $pin "$host" "$work/files" children
done
finish
