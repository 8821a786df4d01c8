# SPDX-License-Identifier: BSD-3-Clause
# cprof push of processes: windows of all modes, the last window of a process that ends, a command with its descendants.
. "$srcdir/tests/lib/control.sh"
. "$srcdir/tests/lib/push.sh"
cd "$work"
receiver first

# In the background, until end_push.
start_push() { # name arguments...
	pushed=$1
	"$cprof" push "${@:2}" >"$work/$1.said" 2>&1 &
	pushing=$!
	owns $pushing
}

end_push() { # [signal]
	[ -z "${1-}" ] || kill "-$1" $pushing
	reap $pushing
	ended "$pushed" 0
}

# ---- modes that are off are on for the push ----
host off CPROF_CONTROL=on
wait_for 60 lists $pid - || fail "off: no control socket"
start_push modes "$url" -every=1s -verbose -cpu=1000 -wall -heap=1 -lock $pid
if grep -q 'built without libcurl' modes.said; then skip "cprof has no libcurl"; fi
wait_for 60 lists $pid cpu,wall,heap,lock || fail "modes: $("$cprof" ps)"
tell burn 0.2
tell thread
tell hand-over 1
wait_for 60 has_got '^200 .* wakers .*types=waits:count,delay:nanoseconds period=wakes:count' || fail "no wakers: $(cat first/log)"
wait_for 60 has_got '^200 .* memory .*types=alloc_objects:count,alloc_space:bytes period=space:bytes' || fail "no allocations: $(cat first/log)"
wait_for 60 has_got '^200 .* process_cpu ' || fail "no CPU time: $(cat first/log)"
wait_for 60 has_got '^200 .* wall .*types=samples:count,wall:nanoseconds' || fail "no wall time: $(cat first/log)"
wait_for 60 has_got '^200 .* memory .*types=inuse_objects:count,inuse_space:bytes' || fail "no memory in use: $(cat first/log)"
end_push TERM
lists $pid - || fail "modes are left on: $("$cprof" ps)"
got '^wrong' 0
end_host

# ---- a mode that is on: from the push on, and to the process's end ----
: >first/log
rm -f first/*.pb
host on CPUPROFILE="$work/on.pb" CPUPROFILE_FREQUENCY=1000 OTEL_SERVICE_NAME=named CPROF_LABELS=zone=b
wait_for 60 lists $pid cpu || fail "on: no control socket"
tell burn 0.2
start_push on-seen "$url" -every=600s -verbose $pid
wait_for 60 grep -q 'is followed' on-seen.said || fail "on: $(cat on-seen.said)"
tell end-work 0.3
end_host
end_push
got '^200 .* process_cpu .* keys= .*service_name=named zone=b'
check_stack "$(echo first/*.pb)" 'burn;burn_and_tick;end_work'
check_no_stack "$(echo first/*.pb)" 'burn;(obey;)?main'

# ---- waits from before the push, and who held the locks: neither are pushed ----
: >first/log
rm -f first/*.pb
mkfifo held.in
env LD_PRELOAD="$CP_LIBRARY" LOCKPROFILE="$work/held.pb" CPROF_LOCK_THRESHOLD=0 "$builddir/tests/e2e/serve-host" \
	<held.in >held.out 2>held.err &
pid=$!
owns $pid
exec {told}>held.in
waited() { # how often
	[ "$("$cprof" ps -json | $python -c "import json, sys
print(sum(p['modes']['lock']['samples'] for p in json.load(sys.stdin) if p['pid'] == $pid))")" -ge "$1" ]
}
wait_for 60 waited 20 || fail "held: no waits"
# Not the program's input, which ends with the test's end of it.
eval 'start_push held-seen "$url" -every=600s -verbose $pid' "$told>&-"
wait_for 60 grep -q 'is followed' held-seen.said || fail "held: $(cat held-seen.said)"
wait_for 60 waited 60 || fail "held: no more waits"
exec {told}>&-
wait $pid
end_push
got '^200 .* block ' 1
got '^200 .* mutex ' 1
waits() { # file
	"$cprof" top -json -cum -sample_index=0 "$1" | $python -c "import json, sys
print(max(r['cum'] for r in json.load(sys.stdin)['rows'] if r['name'] == 'critical'))"
}
# A holder is known when it releases the lock. So those of the last waits, one for each of the host's two threads, may
# come when the push has begun.
while read -r series file before; do
	nth=$(grep '^200' first/log | grep -n " $series " | cut -d: -f1)
	pushed=$(waits "$(ls -v first/*.pb | sed -n "${nth}p")") all=$(waits "$file")
	[ "$pushed" -gt 0 ] && [ "$pushed" -le $((all - before)) ] || fail "$series: $pushed of $all waits were pushed, $before are from before"
done <<'END'
block held.pb 20
mutex held.holders.pb 18
END

# ---- a last window, from a file without lines, begins with the program's functions, as other windows do ----
: >first/log
rm -f first/*.pb
$CXX -O2 -g -pthread -o rows "$srcdir/tests/e2e/pprof-first-rows-host.cc" || fail "the host doesn't compile"
mkfifo rows.in
env LD_PRELOAD="$CP_LIBRARY" CPROF_SYMBOLIZE=names LOCKPROFILE="$work/rows.pb" CPROF_LOCK_THRESHOLD=0 ./rows lock wait <rows.in &
pid=$!
owns $pid
exec {told}>rows.in
wait_for 60 lists $pid lock || fail "rows: no control socket"
eval 'start_push rows-seen "$url" -every=600s -verbose $pid' "$told>&-"
wait_for 60 grep -q 'is followed' rows-seen.said || fail "rows: $(cat rows-seen.said)"
exec {told}>&-
wait $pid
end_push
for file in first/*.pb; do
	"$cprof" folded "$file"
done >stacks
grep -q ';update [0-9]*$' stacks && ! grep -q 'mutex_[a-z]* [0-9]*$' stacks || fail "rows: not the program's functions: $(cat stacks)"

# ---- killed: what it did since its last window is lost, and that is said ----
host killed CPUPROFILE="$work/killed.pb"
wait_for 60 lists $pid cpu || fail "killed: no control socket"
start_push killed-seen "$url" -every=600s -verbose $pid
wait_for 60 grep -q 'is followed' killed-seen.said || fail "killed: $(cat killed-seen.said)"
kill -9 $pid
wait $pid 2>/dev/null
end_push
exec {told}>&-
says killed-seen '1 last window was lost'

# ---- nothing since the file was written, and a process without samples, which has no file: nothing is lost ----
export TMPDIR=$work/tmp
mkdir tmp
# The shell writes its file at its checkpoint, before the last windows, and has no sample then or later.
CPROF_CHECKPOINT=1s push quiet "$url" -every=1s -verbose -cpu=1 -- sh -c 'sleep 4; :'
ended quiet 0
[ "$(grep -c 'is followed' quiet.said)" = 2 ] || fail "quiet: $(cat quiet.said)"
! grep -q lost quiet.said || fail "quiet: $(cat quiet.said)"

# ---- a command, with a process that is too short for a window ----
: >first/log
rm -f first/*.pb
push command "$url" -every=1s -cpu=1000 -name=cmd -- \
	sh -c '"$1" periodic 0.2; "$1" periodic 0.2; exit 7' sh "$builddir/tests/traps/hosts/cpu-host"
ended command 7
got '^wrong' 0
[ "$(logged '^200 .* process_cpu .*service_name=cmd')" -ge 2 ] || fail "command: $(cat first/log)"
# (A tick may find the shell, too.)
for file in first/*.pb; do "$pprof_check" --raw "$file" 2>/dev/null; done | grep -E 'first_half|second_half' >/dev/null ||
	fail "command: no file has a stack of its program: $(ls first)"
[ -z "$(ls tmp)" ] || fail "command: left behind: $(ls tmp)"
push signal "$url" -- sh -c 'kill -TERM $$'
ended signal 143
push missing "$url" -- "$work/no-such-program"
ended missing 127
push nobody "$url" 999999999
ended nobody 2
says nobody 'no process'
grep -q '0 profiles' nobody.said && fail "nobody: $(cat nobody.said)"
finish
