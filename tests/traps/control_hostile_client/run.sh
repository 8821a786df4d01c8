# SPDX-License-Identifier: BSD-3-Clause
# A client of the control socket that hangs, floods, sends rubbish and passes descriptors: the program goes on as it
# would, the collector does its work, and the next client is served.
. "$srcdir/tests/lib/control.sh"
host flooded CPUPROFILE="$work/flooded.pb" CPROF_CHECKPOINT=50ms
wait_for 60 has_socket $pid || fail "no socket"
ticks() { cut -d' ' -f14,15 "/proc/$pid/stat" | tr ' ' +; }
if has_socket $pid; then
	before=$(($(ticks)))
	timeout 120 python3 "$srcdir/tests/lib/control-client.py" hostile libcprof/$pid >"$work/made" || fail "the client fails: $(cat "$work/made")"
	# What is accepted is bounded, whatever the client does: so is its cost.
	used=$(($(ticks) - before))
	[ "$used" -lt 100 ] || harm "the client has cost the program $used ticks of CPU time"
	task=$(grep -lx cprof /proc/$pid/task/*/comm | head -n 1)
	few_descriptors() { [ "$(ls "${task%comm}fd" | wc -l)" -le 4 ]; }
	wait_for 60 few_descriptors || harm "the collector keeps descriptors: $(ls -l "${task%comm}fd")"
	wait_for 60 answers $pid || harm "the next client has no answer"
fi
tell close-all
tell descriptors
[ "$answer" = 'lowest 3, open 3' ] || harm "the program's descriptors: $answer"
rm -f "$work/flooded.pb"
tell burn 0.2
[ "${CP_MODES:-cpu}" != cpu ] || wait_for 60 test -s "$work/flooded.pb" || harm "the collector writes no checkpoint any more"
end_host
check_ended flooded 0
finish
