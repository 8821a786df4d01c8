# SPDX-License-Identifier: BSD-3-Clause
# SIGUSR2 is used by the host (JVM, nginx, nodemon).
. "$srcdir/tests/lib/e2e.sh"
host=./tests/traps/hosts/dump-host
lines() { # name
	grep -c '^libcprof:' "$work/$1.err"
}

# Nobody else uses it: a dump, and the program goes on.
runs_well profiled default "$host" send 12 "$work/default.0001.pb" "$work/default.0002.pb"
check_valid "$work/default.pb" "$work/default.0001.pb" "$work/default.0002.pb"

# The host's handler works, a comment says that there is no dump.
for how in handle ignore; do
	bare "bare-$how" "$host" "$how" 12
	profiled "$how" "$host" "$how" 12
	check_ended_valid "$how" 0 "bare-$how"
	check_comment "$work/$how.pb" 'note: the program uses signal 12 \(SIGUSR2\) itself'
	[ ! -e "$work/$how.0001.pb" ] || fail "$how: a dump was written all the same"
done
# The host sets the default itself: it is ended by the signal, which is no dump any more. So with one that was
# chosen for dumps of the heap or for the toggle, and in a second run.
export AGAIN=$work/again.pb
for how in signal sigaction raw restored restarted; do
	bare "bare-$how" "$host" default 12 "$how"
	check_status "bare-$how" 140
	profiled "$how" "$host" default 12 "$how"
	check_status "$how" 140
	check_same_output "$how" "bare-$how"
	[[ $how == rest* ]] || check_quiet "$how"
	check_valid "$work/$how.pb"
	[ ! -e "$work/$how.0001.pb" ] || fail "$how: a dump was written all the same"
done
check_valid "$AGAIN"
HEAPPROFILESIGNAL=12 HEAPPROFILE="$work/heap-signal.heap.pb" profiled heap-signal "$host" default 12 signal
check_status heap-signal 140
CPUPROFILESIGNAL=12 profiled toggle-signal "$host" default 12 signal
check_status toggle-signal 140

# It is ignored from the start.
(
	trap '' USR2
	runs_well profiled inherited "$host" send 12
	check_comment "$work/inherited.pb" 'note: the program uses signal 12 \(SIGUSR2\) itself'
	[ "$failures" = 0 ]
) || failures=$((failures + 1))
# The host takes it by sigwait.
bare bare-wait "$host" wait 12
profiled wait "$host" wait 12
check_ended wait 0 bare-wait

# Another signal, or none: SIGUSR2 then does what it would have done.
bare bare-killed "$host" send 12
check_status bare-killed 140
for signal in none USR1 RTMIN+3 10; do
	CPROF_SIGNAL=$signal profiled killed "$host" send 12
	check_ended_valid killed 140
done
rtmin=$(kill -l RTMIN)
for signal in USR1:10 RTMIN+3:$((rtmin + 3)) SIGHUP:1; do
	CPROF_SIGNAL=${signal%:*} runs_well profiled other "$host" send "${signal#*:}" "$work/other.0001.pb"
	check_valid "$work/other.0001.pb"
done
# A request that can't be honoured is reported.
CPROF_SIGNAL=USR1 ends_well profiled both "$host" handle 10
[ "$(lines both)" = 1 ] || fail "both: not one line: $(cat "$work/both.err")"

# gperftools' toggle: on with the first, a file with the second.
CPUPROFILESIGNAL=12 ends_well profiled toggle "$host" send 12 /dev/null "$work/toggle.pb.0" /dev/null "$work/toggle.pb.1"
check_valid "$work/toggle.pb.0" "$work/toggle.pb.1"
[ ! -e "$work/toggle.pb" ] || fail "toggle: a file without a number"
CPUPROFILESIGNAL=USR2 ends_well profiled never "$host" ignore 10
[ -z "$(ls "$work"/never.pb* 2>/dev/null)" ] || fail "never toggled, but: $(ls "$work"/never.pb*)"
finish
