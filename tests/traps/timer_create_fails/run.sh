# SPDX-License-Identifier: BSD-3-Clause
# timer_create fails (RLIMIT_SIGPENDING): no abort, and no thread silently lost.
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/hosts/cpu-host
(ulimit -i 0) 2>/dev/null || skip "ulimit -i does not work here"

# ITIMER_PROF takes over: a comment says so, and the profile holds the CPU time all the same.
limited() { # label frequency
	(
		ulimit -i 0
		CPUPROFILE_FREQUENCY=$2 profiled "$1" "$host" threads 4 0.3
		exit "$status"
	)
	status=$?
	check_status "$1" 0
	check_quiet "$1"
	check_comment "$work/$1.pb" 'note: no CPU timer for a thread.*ulimit -i'
	[ "$(cat "$work/$1.out")" = done ] || harm "$1: output $(cat "$work/$1.out")"
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
