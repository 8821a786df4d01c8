# poll, epoll_wait, nanosleep, select, semop, sem_timedwait return EINTR in spite of SA_RESTART.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/eintr
bare bare "$host"
check_status bare 0
for engine in auto itimer; do
	CPROF_CPU_ENGINE=$engine CPUPROFILE_FREQUENCY=10000 profiled "$engine" "$host"
	check_status "$engine" 0
	check_same_output "$engine" bare || cat "$work/$engine.out"
	check_valid "$work/$engine.pb"
done
finish
