#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cprof start and stop: every mode in a process that was started without any, with settings, for a time; the files, and
# what is said where it can't be.
. "$srcdir/tests/lib/control.sh"
client=$(realpath "$srcdir/tests/lib/control-client.py")
cd "$work"

host late CPROF_CONTROL=on
late=$pid
wait_for 60 lists $pid - || fail "no control socket"
cprof all start -cpu=1000 -wall=200 -heap=1 -lock=10us -o "$work/a%p.pb" $pid
check_status all 0
says all "^wall profile of process $pid goes to $work/a%p.wall.pb\$"
lists $pid cpu,wall,heap,lock || fail "all: $("$cprof" ps)"
cprof again start -cpu $pid
refused again 'cpu: it is on'
tell thread
tell burn 0.4
cprof one stop -cpu $pid
check_status one 0
says one "^cpu profile of process $pid is in $work/a%p.cpu.pb\$"
lists $pid wall,heap,lock || fail "one: $("$cprof" ps)"
check_valid a%p.cpu.pb
check_stack a%p.cpu.pb 'burn;.*main'
check_comment a%p.cpu.pb 'cpu: frequency 1000 Hz'
cprof rest stop $pid
check_status rest 0
for mode in wall heap lock; do
	check_valid_as $mode a%p.$mode.pb
done
check_stack a%p.heap.pb 'pthread_create'
check_comment a%p.heap.pb 'started while the program ran: blocks that were allocated before are not known'
check_comment a%p.heap.pb 'resident memory: .*, heap not in use, or allocated before: '
lists $pid - || fail "rest: $("$cprof" ps)"
cprof none stop -cpu $pid
refused none 'cpu: it is not on'
cprof nothing stop $pid
refused nothing "process $pid: no mode is on"

# For a time.
cprof timed start -cpu=1000 -for=300ms $pid
check_status timed 0
wait_for 60 lists $pid - || fail "timed: it doesn't end"
check_valid control-host.$pid.cpu.pb
# Dropped.
cprof dropped start -heap=1 -o dropped.pb $pid
cprof drop stop -discard $pid
check_status drop 0
ls dropped* >/dev/null 2>&1 && [ "$(ls dropped*)" != "dropped.err
dropped.out" ] && fail "discard leaves files: $(ls dropped*)"
cprof nowhere start -cpu -o "$work/no/such/place.pb" $pid
refused nowhere 'No such file or directory; -o PATH puts the file elsewhere'
lists $pid - || fail "nowhere: $("$cprof" ps)"
# A mode that is on at the end.
cprof end start -cpu=1000 -o end.pb $pid
tell burn 0.4
end_host
check_status late 0
check_valid end.pb
check_stack end.pb 'burn;.*main'
[ ! -s "$work/late.err" ] || fail "late says: $(cat "$work/late.err")"

# Beside a mode of the environment, whose settings stay.
listed_host beside cpu CPUPROFILE="$work/beside.pb" CPUPROFILE_FREQUENCY=1000
cprof heap start -heap=1 -heap-views=resident -o beside-heap.pb $pid
check_status heap 0
tell burn 0.2
tell thread
end_host
check_comment beside.pb 'cpu: frequency 1000 Hz'
check_stack beside-heap.pb 'pthread_create'
"$cprof" top -sample_index=resident_space beside-heap.pb >/dev/null || fail "start -heap-views=resident: no resident_space"
cprof views start -heap -heap-views=resident,maps $pid
grep -q '^cprof start: -heap-views=resident,maps is no list of ' "$work/views.err" || fail "views: $(cat "$work/views.err")"

# Who can't be asked.
cprof gone start $late
refused gone "there is no process $late"
sleep 100 &
pid=$!
owns $pid
cprof bare start $pid
refused bare 'does not run under libcprof'
# Somebody else has taken the name of its socket.
$python -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind("\0libcprof/" + sys.argv[1])
s.listen(5)
print("up", flush=True)
time.sleep(100)' $pid >"$work/squatter" &
owns $!
wait_for 60 grep -q up "$work/squatter" || fail "no squatter"
cprof squatted start $pid
refused squatted 'does not run under libcprof'
host off CPROF_CONTROL=off CPUPROFILE="$work/off.pb"
cprof off start -heap $pid
refused off 'no control socket: one is there while a mode is on, or from the start with CPROF_CONTROL=on'
end_host
cprof word start hello
refused word '"hello" is no process id'
cprof rate start -cpu=0 $$
refused rate '-cpu=0 is not 1 to 10000'
listed_host event - CPROF_CONTROL=on
for verb in start record; do
	cprof $verb-event $verb -event=foo $pid
	refused $verb-event '-event=foo is no event; accepted is page-faults, minor-faults'
done
# The library refuses it, too.
$python "$client" start libcprof/$pid EVENTPROFILE="$work/foo.pb" CPROF_EVENT=foo >foo.reply
grep -q '^-[0-9]* .*CPROF_EVENT=foo: accepted is page-faults, minor-faults' foo.reply || fail "the library: $(cat foo.reply)"
lists $pid - || fail "event: $("$cprof" ps)"
end_host
cprof nobody start
refused nobody 'give a process id'
finish
