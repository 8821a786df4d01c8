# SPDX-License-Identifier: BSD-3-Clause
# Threads that existed before the start, or that clone() made without libc, with a TLS of their own or
# with another thread's: found and sampled.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
for how in stop quick_exit; do
	arguments=$work/early-$how.pb
	[ "$how" = stop ] || arguments="$arguments $how"
	# shellcheck disable=SC2086  # two arguments
	ends_well bare "early-$how" ./tests/traps/threads_before_start/early-threads $arguments
	check_valid "$work/early-$how.pb"
	for function in early_thread starter_thread main_work; do
		check_stack "$work/early-$how.pb" "$function"
	done
done

# Made by thrd_create: sampled from the start. Made behind our back, and known only from /proc, until
# it pauses itself.
ends_well bare found ./tests/traps/threads_before_start/found-threads "$work/found.pb" "$work/again.pb"
check_valid "$work/found.pb"
check_stack "$work/found.pb" c11_work
check_stack "$work/found.pb" found_work
check_stack "$work/found.pb" resumed_work
check_no_stack "$work/found.pb" paused_work

ends_well bare raw-bare ./tests/traps/threads_before_start/raw-threads
for unwind in dwarf fp libunwind; do
	CPROF_UNWIND=$unwind CPUPROFILE_FREQUENCY=1000 profiled "raw-$unwind" ./tests/traps/threads_before_start/raw-threads profiled
	check_ended_valid "raw-$unwind" 0 raw-bare
	check_stack "$work/raw-$unwind.pb" raw_work
	# Both threads, of both generations.
	tids=$("$pprof_check" --raw "$work/raw-$unwind.pb" | grep raw_work | grep -o 'tid=[0-9]*' | sort -u | wc -l)
	[ "$tids" = 4 ] || fail "raw-$unwind: $tids threads of 4 were sampled"
done

# The program's own timer for all threads: its signals come in any of them.
CPUPROFILE_FREQUENCY=1000 ends_well profiled raw-itimer ./tests/traps/threads_before_start/raw-threads together
check_same_output raw-itimer raw-bare
check_valid "$work/raw-itimer.pb"
finish
