#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cprof threads: every thread with its stack and what it waits for, with no mode on; and no call of the program notices.
. "$srcdir/tests/lib/control.sh"
cd "$work"

listed_host now - CPROF_CONTROL=on
for _ in 1 2 3; do tell thread; done
for _ in 1 2; do tell sleeper; done
tell stuck 4
tell spin
# Threads need a moment to come to where they wait.
settled() {
	"$cprof" threads -json $pid >now.json && $python - <<-'EOF'
		import json
		all = json.load(open("now.json"))
		def groups(function, state, call):
		    return [g for g in all["groups"] if any(f.get("function") == function for f in g["stack"])
		            and g["state"] == state and g.get("syscall") in call]
		def one(function, count, state, *call):
		    g = groups(function, state, call)
		    assert len(g) == 1 and g[0]["count"] == count, (function, g)
		    return g[0]
		assert all["threads"] == 11, all["threads"]
		one("idle", 3, "waiting", "pause", "ppoll")
		one("sleep_well", 2, "waiting", "clock_nanosleep", "nanosleep")
		stuck = one("stuck", 4, "waiting", "futex")
		assert {t["lock"] for t in stuck["threads"]} == {"never_free"}, stuck
		main = one("main", 1, "waiting", "read")
		assert main["threads"][0]["name"] == "control-host", main
		running = [g for g in all["groups"] if g["state"] in ("running", "runnable")]
		assert len(running) == 1 and not running[0]["stack"], running
		# Addresses are those of the file, as everywhere.
		for f in (f for g in all["groups"] for f in g["stack"] if f.get("module", "").startswith("/")):
		    assert int(f["address"], 16) < 1 << 32, f
		counts = [g["count"] for g in all["groups"]]
		assert counts == sorted(counts, reverse=True), counts
	EOF
}
wait_for 30 settled || fail "$(settled 2>&1 | tail -n 2) $(cat now.json)"
"$cprof" threads $pid >now.txt || fail "no text"
grep -q "(no stack: a thread that runs is not interrupted; cprof record -for=1s $pid shows where it runs)" now.txt || fail "a running thread: $(cat now.txt)"
grep -q "program:" now.txt && fail "a note for files: $(cat now.txt)"
grep -q "^ *4 waiting in futex: " now.txt || fail "text: $(cat now.txt)"
grep -qx "       for mutex never_free, held by control-host($pid)" now.txt || fail "text: $(cat now.txt)"
grep -q '^        stuck  control-host.c:' now.txt || fail "no line: $(cat now.txt)"
for _ in 1 2 3 4 5 6 7 8 9 10; do "$cprof" threads $pid >/dev/null; done
# With modes on, and beside them.
"$cprof" start -cpu -wall -lock $pid >/dev/null
wait_for 30 settled || fail "with modes: $(settled 2>&1 | tail -n 2)"
"$cprof" stop -discard $pid
end_host
# A sleeper that was woken would say so.
check_status now 0
[ ! -s now.err ] || fail "the program says: $(cat now.err)"
"$cprof" threads $pid 2>gone.err && fail "of a process that is gone"
grep -q "there is no process $pid" gone.err || fail "gone: $(cat gone.err)"
finish
