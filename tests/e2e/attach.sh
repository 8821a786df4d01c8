#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cprof attach and detach: a process that was started without the library gets it, notices nothing, and is rid of it; what
# can't be attached to is refused with the reason, and goes on.
. "$srcdir/tests/lib/control.sh"
[ "$(uname -m)" = x86_64 ] || skip "attach is for x86_64"

# Starts attach-host WHAT as NAME, without the library. The process to attach to is $work_pid.
unaware() { # name what...
	hosted=$1
	shift
	mkfifo "$work/$hosted.in"
	"${unaware_program:-$builddir/tests/e2e/attach-host}" "$@" <"$work/$hosted.in" >"$work/$hosted.out" 2>"$work/$hosted.err" &
	pid=$!
	owns $pid
	exec {told}>"$work/$hosted.in"
	wait_for 60 grep -q '^up' "$work/$hosted.out" || fail "$hosted doesn't come up"
	work_pid=$((10#$(sed -n 's/^up //p' "$work/$hosted.out" | tail -n 1)))
}

ended_well() { # name
	[ -z "$told" ] || exec {told}>&-
	status=0
	wait "$pid" || status=$?
	check_status "$1" 0
	[ ! -s "$work/$1.err" ] || harm "$1 says: $(cat "$work/$1.err")"
}

# No thread of these is ever at a safe place: that takes ten seconds to be said.
for what in handler stdio; do
	unaware $what $what
	eval "$what=$pid ${what}_told=$told"
	timeout 60 "$cprof" attach "$work_pid" >"$work/$what-attach.out" 2>"$work/$what-attach.err" &
	eval "${what}_attach=$!"
	owns $!
done

# Attach, all verbs, detach, and again.
host user LD_PRELOAD=
tell sleeper 1
cprof threads-before threads "$pid"
refused threads-before "\"cprof attach $pid\" loads it"
cprof attach attach "$pid"
check_status attach 0
says attach "attached to process $pid"
lists "$pid" - || fail "it is not listed: $("$cprof" ps)"
cprof again attach "$pid"
says again 'has libcprof already'
cprof threads threads "$pid"
says threads sleep_well
cprof start start -heap=1 -o "$work/heap.pb" "$pid"
check_status start 0
tell allocate 1000
cprof detach detach "$pid"
check_status detach 0
check_valid_as heap "$work/heap.pb"
"$cprof" top -sample_index=alloc_objects "$work/heap.pb" | grep -qE '^ *1000 .*allocate' || fail "blocks: $("$cprof" top -sample_index=alloc_objects "$work/heap.pb")"
lists "$pid" && fail "it is still listed after the detach"
cprof twice detach "$pid"
refused twice "is detached already, or was never attached"
tell allocate 10
(cd "$work" && timeout 60 "$cprof" attach "$pid" -heap=1 -for=300ms >record.out 2>record.err) || fail "attach -heap: $(cat "$work/record.err")"
[ -s "$work/$pid.heap.pb" ] || fail "attach -heap: no profile: $(cat "$work/record.err")"
cprof detach-again detach "$pid"
check_status detach-again 0
end_host
check_status user 0
[ ! -s "$work/user.err" ] || harm "the process says: $(cat "$work/user.err")"

# Waits end at their time, and by themselves.
unaware waits wait
for i in 1 2 3 4 5; do
	cprof waits-attach attach "$work_pid"
	check_status waits-attach 0
	cprof waits-detach detach "$work_pid"
	check_status waits-detach 0
done
ended_well waits
grep -q '^undisturbed' "$work/waits.out" || harm "waits: $(cat "$work/waits.out")"

# The library is at a path that the process doesn't see.
if unshare -rm true 2>/dev/null; then
	mkdir "$work/hidden"
	mkfifo "$work/hidden.in"
	unshare -rm sh -c "mount -t tmpfs none '$(dirname "$CP_LIBRARY")' && exec '$builddir/tests/e2e/attach-host' wait" \
		<"$work/hidden.in" >"$work/hidden.out" 2>"$work/hidden.err" &
	pid=$!
	owns $pid
	exec {told}>"$work/hidden.in"
	wait_for 60 grep -q '^up' "$work/hidden.out" || fail "hidden doesn't come up: $(cat "$work/hidden.err")"
	cprof hidden-attach attach "$pid"
	check_status hidden-attach 0
	ended_well hidden
fi

# Whoever is killed is the tool.
unaware killed wait
for ms in 0 1 2 3 4 5 6 8; do
	timeout -s KILL 0.00$ms "$cprof" attach "$work_pid" >"$work/killed.said" 2>&1 || true
done
ended_well killed

# What can't be.
cprof none attach 999999999
refused none 'there is no process'
cprof self attach 0
refused self 'is no process id'
for what in filter:seccomp traced:'is traced by process' vfork:'between vfork and exec' ; do
	unaware "${what%%:*}" "${what%%:*}"
	cprof "${what%%:*}-attach" attach "$work_pid"
	refused "${what%%:*}-attach" "${what#*:}"
	ended_well "${what%%:*}"
done
unaware stopped stdio
kill -STOP "$pid"
wait_for 60 grep -q '^State:.*T' "/proc/$pid/status"
cprof stopped-attach attach "$pid"
refused stopped-attach "kill -CONT $pid"
kill -CONT "$pid"
ended_well stopped
if $CC -static -pthread -I"$srcdir/tests/lib" -D_GNU_SOURCE -o "$work/static" "$srcdir/tests/e2e/attach-host.c" 2>/dev/null; then
	unaware_program=$work/static unaware static wait
	cprof static-attach attach "$work_pid"
	refused static-attach 'is a static program'
	ended_well static
fi
if [ "$(id -u)" = 0 ] && as_nobody=$(command -v setpriv); then
	unaware others wait
	status=0
	"$as_nobody" --reuid 65534 --clear-groups "$cprof" attach "$work_pid" >"$work/others-attach.out" 2>"$work/others-attach.err" || status=$?
	grep -q "another user's" "$work/others-attach.err" || fail "others: $(cat "$work/others-attach.err")"
	ended_well others
fi
# A process that calls exec is attached to, or said to be gone: it goes on in both cases.
unaware exec exec 60
while ! grep -q '^done' "$work/exec.out"; do
	cprof exec-attach attach "$work_pid"
done
ended_well exec
for what in handler stdio; do
	status=0
	eval "wait \$${what}_attach" || status=$?
	refused $what-attach 'no thread was at a place'
done
# Each has the descriptors of those that were started before it.
exec {stdio_told}>&- {handler_told}>&-
for what in handler stdio; do
	pid=${!what} told=
	ended_well $what
done
finish
