# SPDX-License-Identifier: BSD-3-Clause
# main has left through pthread_exit, the last thread ends: our own thread must not keep the process
# alive, also where /proc can't be read or a raw clone is left. It ends with status 0, and atexit
# handlers run with signals as they were.
# libc ends the process with its last thread. Our thread is one of libc's, and so the last, if calls of setuid don't
# come to us: here because another library has the function, too. Otherwise libc doesn't know our thread.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
echo 'int setuid(unsigned id) { return (int)id; }' >"$work/own.c"
$CC -shared -nostdlib -fPIC -o "$work/own.so" "$work/own.c" || skip "no compiler"
ways="pthread_exit pthread_exit-workers pthread_exit-joined"
# Where the profile goes may be out of reach by then; that the process ends is what counts.
unreachable="pthread_exit-no-files pthread_exit-jail pthread_exit-raw-left"
for way in $ways $unreachable; do
	ends_well bare "$way-bare" ./tests/traps/hosts/exits "$way"
done
library=$CP_LIBRARY
for of in task libc; do
	[ $of = task ] || CP_LIBRARY=$work/own.so:$library
	for way in $ways; do
		HEAPPROFILE="$work/heap.pb" same_as_bare cpu "$way-$of" ./tests/traps/hosts/exits "$way"
		check_valid "$work/$way-$of.pb"
		check_stack "$work/$way-$of.pb" work_before_the_end
	done
	for way in $unreachable; do
		ends_well profiled "$way-$of" timeout -s KILL 20 ./tests/traps/hosts/exits "$way"
		check_same_output "$way-$of" "$way-bare"
	done
	check_stack "$work/pthread_exit-workers-$of.pb" work_of_thread
	check_stack "$work/pthread_exit-joined-$of.pb" work_of_thread
done
finish
