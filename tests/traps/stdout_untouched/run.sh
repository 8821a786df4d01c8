# SPDX-License-Identifier: BSD-3-Clause
# A program whose output is data: the profiler never writes to stdout, whatever it has to say.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
bare bare ./tests/traps/hosts/moves
CPROF_VERBOSE=1 CPUPROFILE_FREQUENCY=1000 ends_well profiled verbose ./tests/traps/hosts/moves
check_same_output verbose bare
grep -q '^libcprof:' "$work/verbose.err" || fail "verbose says nothing at all"
CPROF_VERBOSE=1 CPUPROFILE_FREQUENCY=nonsense CPROF_UNWIND=x CPROF_CHECKPOINT=-1 CPROF_SIGNAL=y \
	HEAPPROFILE=x profiled wrong ./tests/traps/hosts/moves
check_status wrong 0
check_same_output wrong bare
CPROF_CHECKPOINT=1ms ends_well profiled unwritable env CPUPROFILE=/nonexistent/x ./tests/traps/hosts/moves
check_same_output unwritable bare

# Also when stdout is the only descriptor that is open, or when stderr is closed.
status=0
env LD_PRELOAD=$CP_LIBRARY CPUPROFILE=$work/closed.pb CPROF_VERBOSE=1 ./tests/traps/hosts/moves >"$work/closed.out" 2>&- <&- || status=$?
check_status closed 0
check_same_output closed bare
check_valid "$work/closed.pb"
finish
