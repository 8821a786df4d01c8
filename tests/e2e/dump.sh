# SPDX-License-Identifier: BSD-3-Clause
# cprof dump: a running process's profiles, over its control socket, in files here; what to do where there is no socket.
. "$srcdir/tests/lib/e2e.sh"
need "$cprof"
host=$work/burner
$CC -O2 -g -o "$host" "$srcdir/tests/e2e/symbolize-host.c" || fail "the host doesn't compile"
mkdir "$work/here" "$work/there"
cd "$work/here"

start() { # environment...
	env LD_PRELOAD="$CP_LIBRARY" "$@" "$host" 100000 >"$work/host.out" 2>"$work/host.err" &
	pid=$!
	owns $pid
	wait_for 20 has_burned || fail "the host doesn't run"
}

# So much CPU time, in ticks, that its samples are of what it does.
has_burned() {
	[ "$(cut -d' ' -f14 "/proc/$pid/stat")" -ge 20 ]
}

answers() {
	"$cprof" ps $pid >/dev/null 2>&1
}

stop() {
	kill -KILL $pid
	wait $pid 2>/dev/null
}

dump() { # name arguments...
	name=$1
	shift
	bare "$name" timeout -s KILL 60 "$cprof" dump "$@"
}

gives() { # name file...
	check_status "$1" 0
	[ "$(cat "$work/$1.out")" = "$(printf "$PWD/%s\n" "${@:2}")" ] || fail "$1: $(cat "$work/$1.out" "$work/$1.err")"
}

refused() { # name regex
	check_status "$1" 2
	grep -qE -- "$2" "$work/$1.err" || fail "$1 doesn't say $2: $(cat "$work/$1.err")"
}

# Both modes, with lines; the next ones beside them; one mode, elsewhere. The process writes nothing for that.
start CPUPROFILE="$work/there/cpu.pb" WALLPROFILE="$work/there/wall.pb"
wait_for 20 answers || fail "no control socket"
dump both $pid
gives both $pid.cpu.0001.pb $pid.wall.0001.pb
check_valid $pid.cpu.0001.pb
check_valid_as wall $pid.wall.0001.pb
"$pprof_check" --raw $pid.cpu.0001.pb | grep -q 'mix;twice;burn;main' || fail "a dump has no inlined calls"
dump again $pid
gives again $pid.cpu.0002.pb $pid.wall.0002.pb
dump one --mode cpu -o mine.pb $pid
gives one mine.pb
check_valid mine.pb
[ "$(stat -c %a mine.pb)" = 600 ] || fail "mine.pb has mode $(stat -c %a mine.pb)"
dump stdout --mode cpu -o - $pid
check_status stdout 0
check_valid "$work/stdout.out"
dump last --mode cpu -last=100ms -o last.pb $pid
gives last last.pb
check_valid last.pb
"$cprof" info last.pb | grep -qE '^duration +0\.100 s' || fail "the last 100 ms: $("$cprof" info last.pb | head -n 6)"
dump two -o two.pb $pid
refused two 'several modes'
dump off --mode heap $pid
refused off "process $pid: heap is not on; .cprof ps. lists"
[ -z "$(ls -A "$work/there")" ] || fail "the process has written $(ls -A "$work/there")"
stop

# Another view of a mode goes beside it; the process is named by its socket's path.
cat >keeps.c <<'END'
#include <stdlib.h>
void *volatile kept[1000];
int main(void)
{
	for (int i = 0; i < 1000; i++)
		kept[i] = malloc(1000);
	for (;;)
		;
}
END
$CC -O1 -g -o keeps keeps.c || fail "keeps.c doesn't compile"
host=./keeps start HEAPPROFILE="$work/there/heap.pb" CPROF_HEAP_INTERVAL=1K CPROF_CONTROL="$work/there/sock"
wait_for 20 test -S "$work/there/sock" || fail "no socket"
dump path "$work/there/sock"
gives path sock.heap.0001.pb sock.heap.0001.peak.pb
"$cprof" info sock.heap.0001.peak.pb | grep -q peak_space || fail "the peak's file is none"
stop

# Without a socket: why, and what the library does by itself, which works.
start CPUPROFILE="$work/there/alone.pb" CPROF_CONTROL=off
dump alone $pid
refused alone 'has no control socket: .*CPROF_CONTROL=on'
grep -q "on \"kill -USR2 $pid\"" "$work/alone.err" || fail "alone: $(cat "$work/alone.err")"
kill -USR2 $pid
wait_for 20 test -s "$work/there/alone.0001.pb" || fail "no dump on SIGUSR2"
check_valid "$work/there/alone.0001.pb"
stop

# Toggled off.
start CPUPROFILESIGNAL=10 CPUPROFILE=toggled.pb CPROF_CONTROL=on
wait_for 20 answers || fail "no control socket"
dump toggled $pid
refused toggled 'no mode is on'
stop

sleep 100 &
pid=$!
owns $pid
dump bare $pid
refused bare 'does not run under libcprof'
grep -q kill "$work/bare.err" && fail "bare: $(cat "$work/bare.err")"
kill -0 $pid || fail "a process that isn't ours was ended"
stop
dump gone $pid
refused gone 'there is no process'
dump mode --mode hep $pid
refused mode '-mode=hep is not'
dump word hello
refused word 'no process id'
finish
