# Trap: locks are taken when nothing is ready or all is over: in an allocator that dlsym calls, in
# constructors, in fork handlers and children, in key destructors after our own, at exit.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/lock.sh"
limit=$bounded
bare bare ./tests/traps/lock-edges
check_status bare 0
profiled off ./tests/traps/lock-edges
check_status off 0
check_same_output off bare
for unwinder in dwarf fp libunwind; do
	CPROF_UNWIND=$unwinder lock_profiled "$unwinder" ./tests/traps/lock-edges
	check_status "$unwinder" 0
	check_same_output "$unwinder" bare
	check_quiet "$unwinder"
	check_valid_as lock "$work/$unwinder.pb"*
done
CPUPROFILE="$work/all.cpu" HEAPPROFILE="$work/all.heap" lock_profiled all ./tests/traps/lock-edges
check_status all 0
check_same_output all bare
finish
