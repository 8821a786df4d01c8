# SPDX-License-Identifier: BSD-3-Clause
# Trap: the program's handler is called with a copy of the kernel's frame, and the copy lacks the registers that don't
# fit in the usual frame (AVX, SVE), or points at those of the old place.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/wide_registers/host
limit=$bounded
bare bare "$host"
[ "$status" != 77 ] || skip "this processor has no wide registers"
check_status bare 0
CPUPROFILE_FREQUENCY=1000 runs_well profiled cpu "$host"
check_same_output cpu bare
check_valid "$work/cpu.pb"
check_stack "$work/cpu.pb" 'hold_registers.*;main'
finish
