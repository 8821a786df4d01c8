# SPDX-License-Identifier: BSD-3-Clause
# main has left through pthread_exit, the last thread ends: our own thread must not keep the process
# alive, also where /proc can't be read or a raw clone is left. It ends with status 0, and atexit
# handlers run with signals as they were.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
for way in pthread_exit pthread_exit-workers pthread_exit-joined; do
	ends_well bare "$way-bare" ./tests/traps/hosts/exits "$way"
	HEAPPROFILE="$work/heap.pb" same_as_bare cpu "$way" ./tests/traps/hosts/exits "$way"
	check_valid "$work/$way.pb"
	check_stack "$work/$way.pb" work_before_the_end
done
# Where the profile goes may be out of reach by then; that the process ends is what counts.
for way in pthread_exit-no-files pthread_exit-jail pthread_exit-raw-left; do
	ends_well bare "$way-bare" ./tests/traps/hosts/exits "$way"
	ends_well profiled "$way" timeout -s KILL 20 ./tests/traps/hosts/exits "$way"
	check_same_output "$way" "$way-bare"
done
check_stack "$work/pthread_exit-workers.pb" work_of_thread
check_stack "$work/pthread_exit-joined.pb" work_of_thread
finish
