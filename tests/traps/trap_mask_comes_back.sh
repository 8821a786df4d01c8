# Trap: a mask that was saved comes back without a call for masks: siglongjmp and setcontext restore it,
# swapcontext has another thread's of the program's own, and what a handler changed ends with it. The
# program is told, and gets its SIGPROFs, by the mask that is in force then.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/jumps
limit="timeout -s KILL 20"
bare bare "$host"
check_status bare 0
for engine in timer perf itimer; do
	CPROF_CPU_ENGINE=$engine CPUPROFILE_FREQUENCY=1000 profiled "$engine" "$host"
	check_status "$engine" 0
	check_same_output "$engine" bare
	check_valid "$work/$engine.pb"
done
check_quiet timer

# What our way of knowing it leaves in the kernel's mask isn't inherited.
for way in exec fork spawn thread; do
	bare "bare-$way" "$host" "$way" "$host"
	profiled "$way" "$host" "$way" "$host"
	check_status "$way" 0
	check_same_output "$way" "bare-$way"
	check_quiet "$way"
done
finish
