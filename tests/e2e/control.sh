#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The control socket, and cprof ps: which processes have one, what it says of them, and what is said where there is
# none.
. "$srcdir/tests/lib/control.sh"

# By default: while a mode is on.
listed_host auto cpu,heap CPUPROFILE="$work/auto.pb" HEAPPROFILE="$work/auto-heap.pb" CPUPROFILE_FREQUENCY=1000
tell burn 0.1
"$cprof" ps -json >"$work/auto.json" || fail "auto: no JSON"
python3 - "$work/auto.json" $pid "$work/auto.pb" <<'EOF' || fail "auto: $(cat "$work/auto.json")"
import json, sys
rows = [r for r in json.load(open(sys.argv[1])) if r["pid"] == int(sys.argv[2])]
assert len(rows) == 1, rows
cpu = rows[0]["modes"]["cpu"]
assert rows[0]["program"] == "control-host", rows
assert cpu["samples"] > 0 and cpu["lost"] == 0 and cpu["period"] == 1000000 and cpu["path"] == sys.argv[3], cpu
assert "heap" in rows[0]["modes"] and "wall" not in rows[0]["modes"], rows
assert rows[0]["cpu_ns"] > 100000000 and 0 < rows[0]["cost_ns"] < rows[0]["cpu_ns"], rows
EOF
auto=$pid
end_host
check_status auto 0
lists $auto && fail "auto: still listed after its end"

# On: without a mode, from the start on; its children, too. A profile that the program starts itself takes its place,
# with its own settings, and leaves it when it stops.
host on CPROF_CONTROL=on
has_socket $pid || wait_for 60 has_socket $pid || fail "on: no socket"
lists $pid - || fail "on: not listed: $("$cprof" ps)"
# A share of next to no CPU time would say nothing.
"$cprof" ps | grep -Eq "^ *$pid -  *-  *0  *- " || fail "on: a cost of a program that has done nothing: $("$cprof" ps)"
tell fork
wait_for 60 lists "${answer#child }" - || fail "on: the child is not listed"
tell start "$work/own.pb"
[ "$answer" = 'start 0' ] || fail "on: cprof_start: $answer"
wait_for 60 lists $pid cpu || fail "on: the program's own profile is not listed"
tell burn 0.05
tell stop
[ "$answer" = 'stop 0' ] || fail "on: cprof_stop: $answer"
check_comment "$work/own.pb" 'max depth 100'
wait_for 60 lists $pid - || fail "on: not listed after the stop"
tell thread
wait_for 60 lists $pid - || fail "on: not listed with a thread"
tell_exec
wait_for 60 lists $pid - || fail "on: not listed after an exec"
# The collector, which sleeps for long without a mode, is woken: it ends before the call, and comes back.
lines=$(wc -l <"$work/on.out")
echo effective-user 0 >&$told
wait_for 30 has_done "$lines" 'effective-user 0' || fail "on: seteuid waits for the collector"
wait_for 60 lists $pid - || fail "on: not listed after seteuid"
end_host
check_status on 0
[ ! -s "$work/on.err" ] || fail "on says: $(cat "$work/on.err")"

# Off, and a value that is none. A process that was started later has its socket by then.
host off CPROF_CONTROL=off CPUPROFILE="$work/off.pb"
off=$pid off_told=$told
listed_host later cpu CPROF_CONTROL=yes CPUPROFILE="$work/later.pb"
grep -q 'CPROF_CONTROL=yes: accepted is auto, on, off or /PATH; using auto' "$work/later.err" || fail "later says: $(cat "$work/later.err")"
end_host
has_socket $off && fail "off: has a socket"
pid=$off told=$off_told
end_host

# Nobody there.
"$cprof" ps extra >"$work/operand.out" 2>"$work/operand.err" && fail "an operand is taken"
grep -q '"extra" is no process id' "$work/operand.err" || fail "an operand: $(cat "$work/operand.err")"

# Another network namespace, as a container has one.
if unshare -n true 2>/dev/null; then
	mkfifo "$work/net.in"
	env LD_PRELOAD="$CP_LIBRARY" CPROF_CONTROL=on unshare -n "$builddir/tests/traps/hosts/control-host" <"$work/net.in" >"$work/net.out" &
	pid=$!
	owns $pid
	exec {told}>"$work/net.in"
	wait_for 60 grep -q '^up' "$work/net.out" || fail "net: doesn't come up"
	wait_for 60 lists $pid - || fail "net: not listed: $("$cprof" ps)"
	has_socket $pid && fail "net: the name is in our namespace"
	end_host
fi
finish
