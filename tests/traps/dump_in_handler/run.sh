# SPDX-License-Identifier: BSD-3-Clause
# Dumping inside the signal handler: aborts and deadlocks.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/hosts/dump-host
module=$work/module.so
echo 'int needed;' | $CC -fPIC -shared -o "$module" -x c - || skip "no compiler"
for unwind in dwarf libunwind; do
	CPROF_UNWIND=$unwind CPUPROFILE_FREQUENCY=1000 \
		profiled "$unwind" timeout --foreground -s KILL 60 "$host" storm 12 20 "$module" /dev/null
	check_ended "$unwind" 0
	check_valid "$work/$unwind."*pb*
	ls "$work/$unwind."*0001* >/dev/null 2>&1 || fail "$unwind: no dump"
done
# A read that the signal interrupts goes on.
limit=$bounded profiled reading "$host" read 12 "$work/reading.0001.pb"
check_ended reading 0
# The toggle, two hundred times: a window is shorter than the kernel's tick, so most have no sample and write no file.
CPUPROFILESIGNAL=10 CPUPROFILE_FREQUENCY=1000 \
	profiled toggle timeout --foreground -s KILL 60 "$host" storm 10 200 "$module" /dev/null
check_ended toggle 0
check_valid "$work/toggle.pb"*
finish
