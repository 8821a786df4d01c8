# SPDX-License-Identifier: BSD-3-Clause
# Trap: the profiler's own calls, and the collector's, are counted as the program's.
. "$srcdir/tests/lib/io.sh"
limit=$bounded
for unwind in dwarf libunwind; do
	CPROF_UNWIND=$unwind CPROF_CHECKPOINT=50ms CPUPROFILE=$work/cpu.pb WALLPROFILE=$work/wall.pb HEAPPROFILE=$work/heap.pb LOCKPROFILE=$work/lock.pb \
		io_profiled on ./tests/traps/io_own_calls/host
	check_status on 0
	check_io_counts "$work/on.pb" "write .*" 1 0 0
	[ "$("$pprof_check" --comments "$work/on.pb" 2>/dev/null | grep -c 'io: .* calls, ')" = 1 ] ||
		fail "$unwind: calls that the program didn't make: $("$pprof_check" --comments "$work/on.pb" | grep 'io: ')"
done
finish
