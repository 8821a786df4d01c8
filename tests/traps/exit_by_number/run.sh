# SPDX-License-Identifier: BSD-3-Clause
# A thread that leaves by syscall(SYS_exit), or by its own instruction, runs no libc code, not even at the end of the
# process if it was the last thread. The profiler's thread must not keep the process alive then; the status is that of
# the last thread, no atexit handler runs, and there is a profile.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
host=./tests/traps/exit_by_number/host
export CPUPROFILE_FREQUENCY=1000

try() { # way mode
	bare "$1-bare" $host "$1"
	want=$status
	case $1 in
	alone* | after-threads | all) check_status "$1-bare" 7 ;;
	worker | copy | cloned | forked | unmapped) check_status "$1-bare" 0 ;;
	esac
	name=$1-$2
	rm -f "$work/$name.pb"*
	bare "$name" env LD_PRELOAD="$CP_LIBRARY" CPROF_HEAP_INTERVAL=1 "${2^^}PROFILE=$work/$name.pb" $host "$1"
	check_ended "$name" "$want" "$1-bare"
	check_valid_as "$2" "$work/$name.pb"
	case $2 in cpu | wall) check_stack "$work/$name.pb" work_before_the_end ;; esac
}

for mode in cpu wall heap lock; do
	try alone $mode
done
for mode in cpu wall; do
	try after-threads $mode
	try alone-hidden $mode
	try main-first $mode
	try main-hidden $mode
	try all $mode
	try worker $mode
	try copy $mode
	try cloned $mode
	try forked $mode
	# In musl, nobody can join a thread that ends by an instruction.
	[[ $CC == musl-gcc* ]] || try unmapped $mode
	# Where the profile goes is out of reach; that the process ends is what counts.
	ends_well bare "jailed-$mode" env LD_PRELOAD="$CP_LIBRARY" "${mode^^}PROFILE=$work/jailed.pb" $host jailed
	for way in main-first main-hidden all worker cloned; do
		check_stack "$work/$way-$mode.pb" work_after_main
	done
	check_stack "$work/forked-$mode.pb".* work_after_main
	[[ $CC == musl-gcc* ]] || check_stack "$work/unmapped-$mode.pb".* work_after_main
done
finish
