#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cprof dump: a running process's profile, found wherever its templates put it; and no signal to a process that it
# would end.
. "$srcdir/tests/lib/e2e.sh"
cprof=$builddir/cprof
[ -x "$cprof" ] || skip "the cprof tool is not built"
host=$work/burner
$CC -O2 -g -o "$host" "$srcdir/tests/e2e/symbolize-host.c" || fail "the host doesn't compile"
cd "$work"

start() { # environment...
	env LD_PRELOAD="$CP_LIBRARY" "$@" "$host" 100000 >"$work/host.out" 2>"$work/host.err" &
	pid=$!
	owns $pid
	wait_for 20 handles "${signal:-USR2}" || fail "the host doesn't come up"
	wait_for 20 has_burned || fail "the host doesn't run"
}

# So much CPU time, in ticks, that its samples are of what it does.
has_burned() {
	[ "$(cut -d' ' -f14 "/proc/$pid/stat")" -ge 20 ]
}

handles() { # signal
	local caught=$(sed -n 's/^SigCgt:\t//p' "/proc/$pid/status") number=$(kill -l "$1")
	((16#${caught:-0} >> (number - 1) & 1))
}

stop() {
	kill -KILL $pid
	wait $pid 2>/dev/null
}

dump() { # name arguments...
	name=$1
	shift
	status=0
	timeout -s KILL 60 "$cprof" dump "$@" >"$work/$name.out" 2>"$work/$name.err" || status=$?
}

refused() { # name regex
	check_status "$1" 2
	grep -qE -- "$2" "$work/$1.err" || fail "$1 doesn't say $2: $(cat "$work/$1.err")"
}

# A relative path, one mode and no other; the same again; somewhere else.
start CPUPROFILE=rel.pb WALLPROFILE="$work/w-%e-%p.pb.gz"
dump both $pid
check_status both 0
[ "$(cat both.out)" = "$work/rel.0001.pb
$work/w-burner-$pid.0001.pb.gz" ] || fail "both: $(cat both.out both.err)"
check_valid rel.0001.pb
"$pprof_check" --raw rel.0001.pb | grep -q 'mix;twice;burn;main' || fail "a dump has no inlined calls"
dump again --mode cpu -o mine.pb $pid
check_status again 0
check_valid mine.pb
[ -e rel.0002.pb ] && fail "the dump is still where it was written"
# The other mode made no dump for that: its next one is its second.
dump third $pid
check_status third 0
[ "$(cat third.out)" = "$work/rel.0003.pb
$work/w-burner-$pid.0002.pb.gz" ] || fail "third: $(cat third.out third.err)"
dump two -o two.pb $pid
refused two 'several modes'
dump off --mode heap $pid
refused off 'not started with a heap profile'
kill -STOP $pid
dump stopped --mode cpu -timeout 1 $pid
refused stopped 'the process is stopped'
kill -CONT $pid
stop

# A name that begins with a part that the library fills in, in a directory where the unfinished file can be seen.
start CPUPROFILE="$work/%e-%p.pb"
kill -STOP $pid
(dump unfinished $pid; echo $status >unfinished.status) &
wait_for 20 grep -q '^ShdPnd:.*[1-9a-f]' "/proc/$pid/status" || fail "no signal was sent"
echo unfinished >".burner-$pid.0001.pb.$pid.tmp"
sleep 0.2
kill -CONT $pid
wait_for 20 test -s unfinished.status
[ "$(cat unfinished.status unfinished.out)" = "0
$work/burner-$pid.0001.pb" ] || fail "an unfinished file was taken: $(cat unfinished.out unfinished.err)"
stop

# A program that writes its title over its environment tells by its control socket where its files are.
cat >titled.c <<'END'
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
static void called(int sig)
{
	write(1, "called\n", 7);
	(void)sig;
}
int main(void)
{
	if (getenv("OWN_USR2"))
		signal(SIGUSR2, called);
	char *first = environ[0], *last = first;
	for (char **e = environ; *e; e++)
		last = *e + strlen(*e);
	for (volatile char *c = first; c < last; c++)
		*c = c - first < 12 ? "server: idle"[c - first] : 0;
	for (volatile uint64_t i = 0;; i++)
		;
}
END
$CC -O1 -o titled titled.c || fail "titled.c doesn't compile"
host=$work/titled start CPUPROFILE="$work/titled.pb" WALLPROFILE="$work/titled-%p.pb"
wait_for 20 "$cprof" ps $pid >/dev/null || fail "titled has no control socket"
dump titled $pid
check_status titled 0
[ "$(cat titled.out)" = "$work/titled.0001.pb
$work/titled-$pid.0001.pb" ] || fail "titled: $(cat titled.out titled.err)"
dump titled-heap --mode heap $pid
refused titled-heap 'not started with a heap profile'
stop
# The signal that it tells is sent, and not SIGUSR2, which is the program's own.
host=$work/titled signal=PWR start CPUPROFILE="$work/other.pb" CPROF_SIGNAL=PWR OWN_USR2=1
wait_for 20 "$cprof" ps $pid >/dev/null || fail "titled has no control socket"
dump other $pid
check_status other 0
[ "$(cat other.out)" = "$work/other.0001.pb" ] || fail "other: $(cat other.out other.err)"
stop
[ ! -s host.out ] || fail "the program's own handler was called"
host=$work/titled start CPUPROFILE="$work/none.pb" CPROF_SIGNAL=none OWN_USR2=1
wait_for 20 "$cprof" ps $pid >/dev/null || fail "titled has no control socket"
dump titled-none $pid
refused titled-none 'CPROF_SIGNAL=none'
stop
[ ! -s host.out ] || fail "the program's own handler was called, with none"
host=$work/titled start CPUPROFILE="$work/titled.pb" CPROF_CONTROL=off
dump untold $pid
refused untold 'has written over its environment'
stop
# Without a mode there is no handler: no advice to send the signal.
env LD_PRELOAD="$CP_LIBRARY" CPROF_CONTROL=off ./titled 2>bare.err &
pid=$!
owns $pid
wait_for 20 has_burned || fail "the titled host doesn't run"
dump bare $pid
refused bare 'no profile is being made there'
grep -q 'kill' bare.err && fail "bare: $(cat bare.err)"
stop

# The program's own handler isn't called.
env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/own.pb" bash -c 'trap "echo >got" USR2; : >ready; while :; do :; done' 2>own-host.err &
pid=$!
owns $pid
wait_for 20 test -e ready && wait_for 20 "$cprof" ps $pid >/dev/null || fail "bash has no control socket"
dump own $pid
refused own 'handles signal 12 .USR2. itself'
kill -0 $pid && [ ! -e got ] || fail "own: bash got the signal"
stop

# Another signal, and a number within the name. A file of an earlier process is no new dump.
touch "n0001.x"
signal=USR1 start CPROF_SIGNAL=SIGUSR1 CPUPROFILE="$work/n%n.x"
dump number $pid
check_status number 0
[ "$(cat number.out)" = "$work/n0001.x" ] || fail "number: $(cat number.out)"
check_valid n0001.x
stop

# Toggled off: how to turn it on.
signal=USR2 start CPUPROFILESIGNAL=10 CPUPROFILE=toggled.pb
dump toggled -timeout 1 $pid
check_status toggled 2
grep -q "CPUPROFILESIGNAL=10, so its CPU profile is off until \"kill -10 $pid\" turns it on" toggled.err || fail "toggled off: $(cat toggled.err)"
stop

# Processes that can't be asked.
signal=TERM start CPROF_SIGNAL=none CPUPROFILE=none.pb
dump none $pid
refused none 'CPROF_SIGNAL=none'
stop
# A program that has set the signal's default since is not ended.
env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE=default.pb "$builddir/tests/traps/hosts/dump-host" default 12 signal "$work/go" >set.out 2>&1 &
pid=$!
owns $pid
wait_for 20 grep -q set set.out || fail "the host doesn't come up"
dump default -timeout 1 $pid
check_status default 2
grep -q 'has set that signal' default.err || fail "default says: $(cat default.err)"
kill -0 $pid || fail "default: the process was ended"
stop
sleep 100 &
pid=$!
owns $pid
dump bare $pid
refused bare 'does not run under libcprof'
kill -0 $pid || fail "a process that isn't ours was ended"
stop
dump gone $pid
refused gone 'there is no process'
dump mode --mode hep $pid
refused mode '-mode=hep is not'
dump word hello
refused word 'one process id'
finish
