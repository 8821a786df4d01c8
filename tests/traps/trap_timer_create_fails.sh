# timer_create fails (RLIMIT_SIGPENDING): no abort, and no thread silently lost.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/cpu-host
(ulimit -i 0) 2>/dev/null || skip "ulimit -i does not work here"

# ITIMER_PROF takes over: said once, and the profile holds the CPU time all the same.
limited() { # label frequency
	(
		ulimit -i 0
		CPUPROFILE_FREQUENCY=$2 profiled "$1" "$host" threads 4 0.3
		exit "$status"
	)
	status=$?
	check_status "$1" 0
	[ "$(grep -c '^libcprof:' "$work/$1.err")" = 1 ] || fail "$1: not one line: $(cat "$work/$1.err")"
	grep -q '^libcprof: no CPU timer for a thread.*ulimit -i' "$work/$1.err" ||
		fail "$1: $(cat "$work/$1.err")"
	[ "$(cat "$work/$1.out")" = done ] || fail "$1: output $(cat "$work/$1.out")"
	check_valid "$work/$1.pb"
	check_stack "$work/$1.pb" 'burn.*;work'
	# 1.2 s; each expiry is a period, and the kernel looks at the timer once a tick.
	total=$("$pprof_check" --total "$work/$1.pb" | sed -n 's/^cpu nanoseconds //p')
	used=$(tail -n 1 "$work/$1.err")
	echo "$1: $total ns in the profile, $used ns used"
	[ "$total" -gt $((used * 80 / 100)) ] && [ "$total" -lt $((used * 115 / 100)) ] ||
		fail "$1: $total ns in the profile, $used ns used"
	"$pprof_check" --comments "$work/$1.pb" | grep -q 'threads: .* [1-9][0-9]* without one' ||
		fail "$1: the threads without a timer are not counted"
}
limited default 99
limited fast 1000
finish
