# SPDX-License-Identifier: BSD-3-Clause
# A fiber's first function has no caller: below it lies code that no call has left, which never returns. Its
# stacks are whole.
. "$srcdir/tests/lib/e2e.sh"
export CPUPROFILE_FREQUENCY=1000
host=./tests/traps/fibers/host
bare bare "$host"
[ "$status" != 77 ] || skip "not for this processor"
check_status bare 0
same_as_bare cpu fibers "$host"
check_valid "$work/fibers.pb"
check_stack "$work/fibers.pb" 'burn[^;]*;fiber_works;fiber(;fiber_begins)?$'
check_no_stack "$work/fibers.pb" 'incomplete'
finish
