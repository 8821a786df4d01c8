# SPDX-License-Identifier: BSD-3-Clause
# Trap: a thread's alternate stack can't be written to any more, and is still registered: the kernel
# kills the process for the first sample there.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/alternate_stack_gone/host
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
for how in read-only unmapped fixed moved by-number bad-pointers by-another; do
	same_as_bare cpu "$how" $host $how
	check_valid "$work/$how.pb"
	check_stack "$work/$how.pb" 'burn.*;after_change;'
	same_as_bare wall wall $host $how
done
status=0
$limit env LD_PRELOAD="$CP_LIBRARY" $host before-start "$work/late.pb" >"$work/late.out" 2>"$work/late.err" || status=$?
check_ended late 0 bare-of-by-another
check_stack "$work/late.pb" 'burn.*;after_change;'
finish
