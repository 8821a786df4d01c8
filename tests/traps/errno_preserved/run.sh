# SPDX-License-Identifier: BSD-3-Clause
# errno changed by the handler.
. "$srcdir/tests/lib/e2e.sh"
for unwind in dwarf fp libunwind; do
	CPROF_UNWIND=$unwind CPUPROFILE_FREQUENCY=10000 ends_well profiled "$unwind" ./tests/traps/errno_preserved/host
	check_valid "$work/$unwind.pb"
	check_stack "$work/$unwind.pb" loop
done
finish
