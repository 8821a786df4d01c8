# SPDX-License-Identifier: BSD-3-Clause
# Trap: a handler comes in the midst of a wait that is being recorded, waits itself, or jumps away; threads
# end while others add to what they held; a child has whatever state the others were in.
. "$srcdir/tests/lib/lock.sh"
limit=$bounded
seconds=${STORM_SECONDS:-1.5}
ends_well bare bare ./tests/traps/lock_storm/host 0.2
CPROF_LOCK_THRESHOLD=0 CPUPROFILE="$work/cpu.pb" CPUPROFILE_FREQUENCY=1000 \
	lock_profiled on ./tests/traps/lock_storm/host "$seconds"
check_ended on 0 bare
check_valid_as lock "$work/on.pb" "$work/on.holders.pb"
check_no_stack "$work/on.pb" '^cp_'
# With a mode that is off again: the child of a fork ends, though another thread has just ended, and has taken the mode's lock.
ends_well bare none env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/none.pb" CPUPROFILESIGNAL=USR2 ./tests/traps/lock_storm/host "$seconds" toggles
check_same_output none bare
finish
