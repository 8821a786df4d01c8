# SPDX-License-Identifier: BSD-3-Clause
# Trap: a handler comes in the midst of a wait that is being recorded, waits itself, or jumps away; threads
# end while others add to what they held; a child has whatever state the others were in.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/lock.sh"
limit=$bounded
seconds=${STORM_SECONDS:-1.5}
bare bare ./tests/traps/lock_storm/host 0.2
check_status bare 0
CPROF_LOCK_THRESHOLD=0 CPUPROFILE="$work/cpu.pb" CPUPROFILE_FREQUENCY=1000 \
	lock_profiled on ./tests/traps/lock_storm/host "$seconds"
check_status on 0
check_same_output on bare
check_quiet on
check_valid_as lock "$work/on.pb" "$work/on.holders.pb"
check_no_stack "$work/on.pb" '^cp_'
finish
