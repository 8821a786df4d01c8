# SPDX-License-Identifier: BSD-3-Clause
# A process that ends or executes a program while somebody has a window of it hands the window over: to cprof push, record and serve, also of
# modes without a file; nothing is lost, nothing counted twice, and a consumer that doesn't listen is not waited for.
. "$srcdir/tests/lib/control.sh"
export XDG_STATE_HOME=$work/state
cp "$srcdir/tests/lib/last-window-stranger.py" "$work/stranger.py"
cd "$work"

# A worker of the server waits for the end of its window.
waits() {
	local worker
	for worker in $(pgrep -P "$server"); do
		# That of the window, and that of the wait, which begins after the window.
		[ "$(ls -l "/proc/$worker/fd" 2>/dev/null | grep -c 'anon_inode:\[pidfd\]')" = 2 ] && return
	done
	return 1
}

total() { # file...
	for file; do "$pprof_check" --raw "$file"; done | awk -F'\t' '{ split($1, v, ","); sum += v[2] } END { printf "%.0f\n", sum / 1e6 }'
}

is_about() { # what ms of-ms
	[ "$2" -ge $(($3 * 8 / 10)) ] && [ "$2" -le $(($3 * 12 / 10 + 20)) ] || fail "$1: $2 ms, not $3"
}

# ---- push, of modes that it has turned on ----
listed_host pushed - CPROF_CONTROL=on
beside pushed "is followed" push dir:"$work/windows" -every=600s -verbose -cpu=1000 -lock $pid
tell burn 0.4
tell contend 20
end_host
check_status pushed 0
wait $consumer || fail "pushed: status $?"
! grep -q lost pushed.said || fail "pushed: $(cat pushed.said)"
[ "$(ls windows/*.cpu.window.pb | wc -l)" = 1 ] || fail "pushed: $(ls windows)"
check_valid windows/*.cpu.window.pb
is_about pushed "$(total windows/*.cpu.window.pb)" 400
check_stack "$(echo windows/*.cpu.window.pb)" 'burn'
for mode in lock holders; do
	[ "$(total windows/*.$mode.window.pb)" -gt 0 ] || fail "pushed: no $mode: $(ls windows)"
done

# ---- record: it ends with the process; of a mode with a file, too, which has all ----
for file in "" "$work/own.pb"; do
	name=recorded${file:+-beside}
	modes=${file:+cpu}
	listed_host $name ${modes:--} CPROF_CONTROL=on ${file:+CPUPROFILE="$file"}
	beside $name "recording process" record -cpu -for=600s -o $name.pb $pid
	tell burn 0.3
	end_host
	wait $consumer || fail "$name: status $?: $(cat $name.said)"
	check_valid $name.pb
	is_about $name "$(total $name.pb)" 300
done
[ "$(total own.pb)" -ge "$(total recorded-beside.pb)" ] || fail "own.pb has less than its window"

# ---- who else connects there neither keeps the window away, nor makes record wait ----
stranger() { # what arguments...
	timeout 100 $python "$work/stranger.py" "$@"
}
has_name() {
	name=$(stranger name "$(pgrep -P $record)") && [ "$name" ]
}
chmod 755 "$work"
mkfifo never-written
as_stranger="setpriv --reuid=1234 --regid=1234 --clear-groups"
$as_stranger true 2>/dev/null || as_stranger=
listed_host strangers - CPROF_CONTROL=on
timeout -s KILL 100 "$cprof" record -cpu -for=600s -o strangers.pb $pid >strangers.said 2>&1 &
record=$!
owns $record
wait_for 60 grep -q 'recording process' strangers.said || fail "strangers: $(cat strangers.said)"
wait_for 60 has_name || fail "strangers: nobody waits for the end"
stranger fifo "$name" never-written || fail "strangers: the FIFO can't be sent"
if [ "$as_stranger" ]; then
	timeout 100 $as_stranger $python "$work/stranger.py" turned-away "$name" || harm "strangers are not turned away"
else
	echo "strangers are not tested: that needs root"
fi
tell burn 0.3
end_host
wait $record || harm "strangers: status $?: $(cat strangers.said)"
check_valid strangers.pb
is_about strangers "$(total strangers.pb)" 300

# ---- a consumer that is stopped is not waited for ----
listed_host stopped - CPROF_CONTROL=on
beside stopped "recording process" record -cpu -for=600s -o stopped.pb $pid
kill -STOP $consumer
tell burn 0.1
end_host
check_status stopped 0
kill -CONT $consumer
wait $consumer || fail "stopped: status $?: $(cat stopped.said)"
check_valid stopped.pb

# ---- an exec: the mode is off then, and its window was handed over; also one that fails: nothing counts twice ----
listed_host replaced - CPROF_CONTROL=on
beside replaced "is followed" push dir:"$work/replaced-windows" -every=1s -verbose -cpu=1000 $pid
tell burn 0.3
tell exec-fails
tell burn 0.3
tell_exec
# Push may turn it on again at once.
wait_for 60 grep -q "the mode ended meanwhile" replaced.said || fail "replaced: the mode is on after the exec: $(cat replaced.said)"
end_host
check_status replaced 0
wait $consumer || fail "replaced: status $?: $(cat replaced.said)"
! grep -q lost replaced.said || fail "replaced: $(cat replaced.said)"
is_about replaced "$(total replaced-windows/*.pb)" 600

# ---- an exec while a mode without a file is on that somebody else has turned on ----
listed_host others - CPROF_CONTROL=on
beside others "recording process" record -cpu -for=600s -o others.pb $pid
record=$consumer
beside followed "is followed" push dir:"$work/others-windows" -every=1s -verbose -cpu $pid
push=$consumer
tell burn 0.3
tell_exec
wait_for 60 lists $pid cpu || fail "others: push does not go on: $(cat followed.said)"
end_host
check_status others 0
wait $record || fail "others: status $?: $(cat others.said)"
wait $push || fail "others: push: status $?"
! grep -q lost followed.said || fail "others: $(cat followed.said)"
is_about "others, recorded" "$(total others.pb)" 300
is_about "others, pushed" "$(total others-windows/*.pb)" 300

# ---- each exec that fails sends the windows, too: nothing is lost, however many wait ----
listed_host often lock CPROF_CONTROL=on LOCKPROFILE="$work/often-own.pb"
beside often "recording process" record -lock -for=600s -o often.pb $pid
for _ in 1 2 3 4; do
	tell contend 5
	tell exec-fails
done
tell contend 5
end_host
wait $consumer || fail "often: status $?: $(cat often.said)"
check_valid_as lock often.pb often.holders.pb
for of in "" .holders; do
	[ "$(total often$of.pb)" = "$(total often-own$of.pb)" ] || fail "often: $(total often$of.pb) ms$of, not $(total often-own$of.pb)"
done

# ---- an exec of a program without the library: nobody answers then, but what was sent is there ----
listed_host left - CPROF_CONTROL=on
beside left "recording process" record -cpu -for=600s -o left.pb $pid
tell burn 0.3
echo "exec-bare $(type -P cat)" >&$told
wait_for 60 grep -qx cat /proc/$pid/comm || fail "left: no exec: $(cat left.err)"
kill -INT $consumer
wait $consumer || fail "left: status $?: $(cat left.said)"
end_host
check_status left 0
check_valid left.pb
is_about left "$(total left.pb)" 300

# ---- draining and writing before an exec is the profiler's time, also when a window is handed over afterwards ----
cat >execs.py <<'END'
import json, os, sys, time
print("up", flush=True)
sys.stdin.readline()
before = time.process_time()
for _ in range(30):
    try:
        os.execv("/no/such/program", ["program"])
    except OSError:
        pass
print("ms", round(1e3 * (time.process_time() - before)), flush=True)
END
mkfifo costs.in
env LD_PRELOAD="$CP_LIBRARY" CPROF_CONTROL=on HEAPPROFILE="$work/costs.pb" CPROF_HEAP_INTERVAL=1 $python execs.py <costs.in >costs.out &
pid=$!
owns $pid
exec {told}>costs.in
wait_for 60 grep -q '^up' costs.out || fail "costs doesn't come up"
wait_for 60 lists $pid heap || fail "costs: no control socket"
beside costs "is followed" push dir:"$work/costs-windows" -every=600s -verbose -lock $pid
echo exec >&$told
exec {told}>&-
wait $pid || harm "costs: status $?"
wait $consumer || fail "costs: status $?: $(cat costs.said)"
used=$(sed -n 's/^ms //p' costs.out)
own=$("$pprof_check" --comments costs.pb | sed -n 's/^cost: \([0-9]*\)\.[0-9]* ms in the collector.*/\1/p')
echo "costs: $own ms of the profiler, $used ms in execs"
[ "${own:-0}" -ge $((used / 2)) ] || fail "costs: of $used ms in execs $own are told as the profiler's"

# ---- killed: that is said ----
listed_host killed - CPROF_CONTROL=on
beside killed "is followed" push dir:"$work/killed-windows" -every=600s -verbose -cpu $pid
kill -9 $pid
wait $pid 2>/dev/null
exec {told}>&-
wait $consumer || true
grep -q '1 last window was lost' killed.said || fail "killed: $(cat killed.said)"

# ---- serve ----
if $python -c 'import ctypes; ctypes.CDLL("libmicrohttpd.so.12")' 2>/dev/null && command -v curl >/dev/null; then
	listed_host served - CPROF_CONTROL=on
	"$cprof" serve -http=127.0.0.1:0 >serve.out 2>serve.err &
	server=$!
	owns $server
	wait_for 60 grep -q 'cprof: serving ' serve.err || fail "serve: $(cat serve.err)"
	url=$(sed -n 's,.*at http://\([^/]*\)/.*,\1,p' serve.err)
	curl -s -m 100 "http://$url/pid/$pid/debug/pprof/profile?seconds=600" >served.pb &
	curl=$!
	owns $curl
	wait_for 60 waits || fail "serve: no window"
	tell burn 0.3
	end_host
	wait $curl || fail "serve: curl: status $?"
	check_valid served.pb
	is_about served "$(total served.pb)" 300
	kill $server
	wait $server || fail "serve: status $?"
else
	echo "serve is not tested: libmicrohttpd12 or curl is not installed"
fi
finish
