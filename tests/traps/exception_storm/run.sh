# SPDX-License-Identifier: BSD-3-Clause
# Unwinding while a C++ exception is thrown, or on a broken stack: a crash.
. "$srcdir/tests/lib/e2e.sh"
for host in exception-storm broken-stack; do
	ends_well bare "$host" "./tests/traps/exception_storm/$host"
	for unwind in dwarf fp libunwind; do
		CPROF_UNWIND=$unwind CPUPROFILE_FREQUENCY=10000 \
			profiled "$host-$unwind" "./tests/traps/exception_storm/$host"
		check_ended_valid "$host-$unwind" 0 "$host"
	done
done
check_stack "$work/exception-storm-dwarf.pb" 'deep.*;[^;]*deep.*storm'
check_stack "$work/broken-stack-dwarf.pb" 'spin_on_stack'
check_stack "$work/broken-stack-dwarf.pb" 'spin_with_registers'
# A frame that is its own caller is not followed round and round.
check_stack "$work/broken-stack-dwarf.pb" 'spin_below_circle;spin_in_circle'
check_no_stack "$work/broken-stack-dwarf.pb" 'spin_in_circle;spin_in_circle;spin_in_circle'
finish
