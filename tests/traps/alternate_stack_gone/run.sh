# SPDX-License-Identifier: BSD-3-Clause
# Trap: a thread's alternate stack can't be written to any more, and is still registered: the kernel
# kills the process for the first sample there.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/alternate_stack_gone/host
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
for how in read-only unmapped fixed moved by-number bad-pointers by-another; do
	bare "bare-$how" $host $how
	check_status "bare-$how" 0
	profiled "$how" $host $how
	check_status "$how" 0
	check_same_output "$how" "bare-$how"
	check_quiet "$how"
	check_valid "$work/$how.pb"
	check_stack "$work/$how.pb" 'burn.*;after_change;'
	status=0
	$limit env LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/wall.pb" $host $how \
		>"$work/wall.out" 2>"$work/wall.err" || status=$?
	check_status wall 0
	check_same_output wall "bare-$how"
done
finish
