#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cprof record: a window of a process in modes that are off, which are off again afterwards and leave no file, and of a
# mode that is on, without what was before.
. "$srcdir/tests/lib/control.sh"
cd "$work"

record() { # name arguments...
	name=$1
	shift
	"$cprof" record -for=600s -top=5 "$@" $pid >"$name.out" 2>"$name.err" &
	recorder=$!
	owns $recorder
	wait_for 60 grep -q "recording process $pid" "$name.err" || fail "$name: $(cat "$name.err")"
}

# As Ctrl-C does.
end_record() { # name
	kill -INT $recorder
	reap $recorder
	check_status "$1" 0
}

listed_host off - CPROF_CONTROL=on
tell burn 0.1
record off-seen -cpu=1000 -heap=1 -lock -o off-window.pb
lists $pid cpu,heap,lock || fail "off: $("$cprof" ps)"
tell burn 0.4
tell thread
tell contend 1
tell hand-over 1
end_record off-seen
lists $pid - || fail "off: modes are left on: $("$cprof" ps)"
check_valid off-window.cpu.pb
check_stack off-window.cpu.pb 'burn;.*main'
"$cprof" top -from=0s "$work/off-window.cpu.pb" 2>&1 | grep -q 'is a window .*no time index; "cprof start PID" and then "cprof dump -last=30s PID"' ||
	fail "-from of a window: $("$cprof" top -from=0s "$work/off-window.cpu.pb" 2>&1)"
check_valid_as heap off-window.heap.pb
check_stack off-window.heap.pb pthread_create
check_valid_as lock off-window.lock.pb
check_stack off-window.lock.holders.pb contend
check_stack off-window.lock.wakers.pb 'sem_post;.*hand_over'
says off-seen 'and .*off-window.lock.wakers.pb'
grep -q ' delay in ' off-seen.err || fail "lock after heap: $(cat off-seen.err)"
grep -A2 '^Your code' off-seen.err | grep -q '  burn$' || fail "off shows: $(cat off-seen.err)"
grep -q "cprof: cpu profile: $work/off-window.cpu.pb" off-seen.err || fail "off says: $(cat off-seen.err)"
ls "$builddir"/control-host.* /dev/null.* 2>/dev/null && fail "off: the process has written a file"
end_host

listed_host on cpu,heap CPUPROFILE="$work/on.pb" CPUPROFILE_FREQUENCY=1000 HEAPPROFILE="$work/on-heap.pb" CPROF_HEAP_INTERVAL=1
tell burn 0.4
# Of the heap the first screen tells what was allocated in the window, and not what is in use.
tell allocate 20000
record none-seen -heap -o none.pb
end_record none-seen
record some-seen -heap -o some.pb
tell allocate 1000
end_record some-seen
grep -q 'nothing was allocated in this time' none-seen.err || fail "no allocation: $(cat none-seen.err)"
check_valid_as heap none.pb some.pb
# A profile that was there is kept.
cp some.pb some.copy
record again-seen -heap -o some.pb
end_record again-seen
cmp -s some.before.pb some.copy || fail "a second record: the first one's file is lost: $(ls some*)"
says again-seen "the heap profile that was there: $work/some.before.pb"
mv some.before.pb some.pb
"$cprof" top -sample_index=inuse_space none.pb | grep -q '9[.]5.* MB' || fail "no allocation: in use: $("$cprof" top none.pb)"
grep -q ' alloc_space' some-seen.err && grep -Eq '9..* kB.* allocate$' some-seen.err ||
	fail "1000 allocations: $(cat some-seen.err)"
record on-seen -o on-window.pb
lists $pid cpu,heap || fail "on: $("$cprof" ps)"
tell end-work 0.4
end_record on-seen
lists $pid cpu,heap || fail "on: the mode has ended: $("$cprof" ps)"
check_valid on-window.pb
check_stack on-window.pb 'burn;burn_and_tick;end_work'
check_no_stack on-window.pb 'burn;(obey;)?main'
check_comment on-window.pb 'dump: a window of the time that the mode is on'
end_host
check_stack on.pb 'burn;burn_and_tick;end_work'
check_stack on.pb 'burn;(obey;)?main'

# It can't be killed so that a mode stays on for ever; a process that ends meanwhile.
listed_host ending - CPROF_CONTROL=on
record ending-seen
end_host
reap $recorder
check_status ending-seen 0
grep -q "^cprof: process $pid has ended after [0-9.]* s\$" ending-seen.err || fail "ending says: $(cat ending-seen.err)"
"$cprof" record -event page-faults $$ 2>space.err
grep -q -- '-event=page-faults' space.err || fail "no hint at -event=: $(cat space.err)"
"$cprof" record ./app 2>word.err
grep -q '"./app" is no process id, and no path of CPROF_CONTROL; "cprof run" records a command' word.err || fail "a command: $(cat word.err)"
finish
