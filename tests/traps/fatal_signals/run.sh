# SPDX-License-Identifier: BSD-3-Clause
# A signal whose default action ends the program leaves a complete profile, and still ends it, with
# the same status.
. "$srcdir/tests/lib/e2e.sh"
ulimit -c 0
export CPUPROFILE_FREQUENCY=1000

same_death() { # way signal-number
	limit=$bounded
	bare "$1-bare" ./tests/traps/hosts/exits "$1"
	check_status "$1-bare" $((128 + $2))
	profiled "$1" ./tests/traps/hosts/exits "$1"
	check_status "$1" $((128 + $2))
	check_same_output "$1" "$1-bare"
	check_quiet "$1"
	check_valid "$work/$1.pb"
	check_stack "$work/$1.pb" work_before_the_end
}

same_death abort 6
same_death TERM 15
same_death INT 2
same_death HUP 1
same_death QUIT 3
same_death USR1 10
same_death RT 40
same_death SEGV-raised 11
same_death alarm 14
same_death pipe 13
same_death cpu-limit 24
check_stack "$work/cpu-limit.pb" by_cpu_limit

# From outside, to a program that waits and to one that works.
for way in wait burn; do
	for sig in TERM SEGV; do
		name=$way-$sig
		env LD_PRELOAD=$CP_LIBRARY CPUPROFILE=$work/$name.pb ./tests/traps/hosts/exits "$way" >"$work/$name.out" 2>"$work/$name.err" &
		pid=$!
		owns "$pid"
		wait_for 20 grep -q ready "$work/$name.out" || harm "$name: not ready"
		kill -s "$sig" "$pid"
		wait "$pid" 2>/dev/null
		status=$?
		check_status "$name" $((128 + $(kill -l "$sig")))
		check_quiet "$name"
		check_valid "$work/$name.pb"
		check_stack "$work/$name.pb" work_before_the_end
	done
done
finish
