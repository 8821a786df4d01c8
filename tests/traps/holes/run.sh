# SPDX-License-Identifier: BSD-3-Clause
# A hole that the program has just made stays a hole: the profiler maps nothing there, neither in the program nor in
# its fork children. The program may unmap the hole once more, read it and expect a fault, map and attach memory
# there, or let a stack grow into it.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
host=./tests/traps/holes/host
export CPUPROFILE_FREQUENCY=1000 WALLPROFILE_FREQUENCY=1000 CPROF_HEAP_INTERVAL=4K

with() { # name case setting...
	name=$1
	case=$2
	shift 2
	bare "$name" env LD_PRELOAD="$CP_LIBRARY" "$@" "$host" "$case"
	check_ended "$name" 0 "bare-$case"
	[ -s "$work/$name.pb" ] || fail "$name: no profile"
}

for case in pages stack; do
	ends_well bare "bare-$case" "$host" "$case"
	with "cpu-$case" "$case" CPUPROFILE="$work/cpu-$case.pb"
	with "perf-$case" "$case" CPUPROFILE="$work/perf-$case.pb" CPROF_CPU_ENGINE=perf
	with "wall-$case" "$case" WALLPROFILE="$work/wall-$case.pb"
	with "heap-$case" "$case" HEAPPROFILE="$work/heap-$case.pb"
	with "lock-$case" "$case" LOCKPROFILE="$work/lock-$case.pb"
	with "all-$case" "$case" CPUPROFILE="$work/all-$case.pb" WALLPROFILE="$work/all-$case.wall.pb" \
		HEAPPROFILE="$work/all-$case.heap.pb" LOCKPROFILE="$work/all-$case.lock.pb" CPROF_CHECKPOINT=1
done
grep -q 'grows by 766 pages' "$work/bare-stack.out" || fail "no stack grew: $(cat "$work/bare-stack.out")"
finish
