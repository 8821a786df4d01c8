# SPDX-License-Identifier: BSD-3-Clause
# A program forbids itself system calls that the profiler would make: the calls must not kill it. The samples so far
# are written before. A mere question whether there is seccomp changes nothing, nor does an attempt that the kernel
# refuses.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
for way in probe blind refused filter filter-by-number filter-with-right strict filter-threads; do
	bare "$way-bare" ./tests/traps/hosts/sandbox "$way"
	[ "$status" = 0 ] || skip "$way: no seccomp here"
	ends_well profiled "$way" ./tests/traps/hosts/sandbox "$way"
	check_same_output "$way" "$way-bare"
	check_valid "$work/$way.pb"
done
for way in probe refused; do
	check_stack "$work/$way.pb" confined_work
	check_quiet $way
done
# Forks and execs go on, in every mode, and so do threads after a stop.
export WALLPROFILE="$work/wall.pb" HEAPPROFILE="$work/heap.pb" LOCKPROFILE="$work/lock.pb" CPROF_HEAP_VIEWS=mmap CPROF_HEAP_INTERVAL=1
for way in filter-forks filter-forks-threads filter-forks-stopped filter-execs forks-strict; do
	env -u WALLPROFILE -u HEAPPROFILE -u LOCKPROFILE ./tests/traps/hosts/sandbox "$way" >"$work/$way-bare.out" ||
		fail "$way: fails by itself"
	ends_well profiled "$way" ./tests/traps/hosts/sandbox "$way"
	check_same_output "$way" "$way-bare"
	check_valid "$work/$way.pb"
done
check_stack "$work/filter.pb" 'work;filter'
check_stack "$work/filter-forks.pb" 'work;filter_forks'
check_comment "$work/filter.pb" 'note: profiling ended before the program: it restricts its system calls \(seccomp\)'
check_quiet filter
finish
