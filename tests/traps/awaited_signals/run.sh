# SPDX-License-Identifier: BSD-3-Clause
# sigwaitinfo and sigtimedwait: another thread, in which SIGPROF is blocked only for the program, is faster than the
# waiting thread, or a handler of the profiler ends the wait. The program would see EINTR although none of its
# handlers ran, or no EINTR although one did.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
host=./tests/traps/hosts/awaited
export CPROF_CPU_ENGINE CPUPROFILE_FREQUENCY=1000
interrupted="handled sampled"
# In musl, no handler ends a wait.
[[ $CC != musl-gcc* ]] || interrupted=
for how in stolen $interrupted left; do
	ends_well bare "bare-$how" "$host" "$how"
done
# A handler of the program's beside perf's hits: trap_perf_events.
for CPROF_CPU_ENGINE in perf timer; do
	for how in stolen left; do
		name=$how-$CPROF_CPU_ENGINE
		ends_well profiled "$name" "$host" "$how"
		check_same_output "$name" "bare-$how"
		check_valid "$work/$name.pb"
	done
	check_stack "$work/stolen-$CPROF_CPU_ENGINE.pb" 'burn.*;busy'
done
for how in $interrupted; do
	ends_well profiled "$how" "$host" "$how"
	check_same_output "$how" "bare-$how"
	[ ! -s "$work/$how.err" ] || fail "$how: $(cat "$work/$how.err")"
done
runs_well profiled dump "$host" dump
check_valid "$work/dump.0001.pb"

ends_well bare bare-early "$host" early "$work/none.pb"
bare early env LD_PRELOAD="$CP_LIBRARY" "$host" early "$work/early.pb"
check_status early 0
check_same_output early bare-early
finish
