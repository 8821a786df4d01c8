# SPDX-License-Identifier: BSD-3-Clause
# A storm (storm-host) in which modes are turned on and off, and set, windows are taken by several consumers, and all threads are
# looked at, CONTROL_ROUNDS times (default 10000, at fifty a second), each with settings of any kind. No crash, no hang,
# no request without an answer; afterwards no mode is left on.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/control.sh"

rounds=${CONTROL_ROUNDS:-10000}
# Half as many a second on a busy machine. The storm must not end before the client.
seconds=$((rounds / 20 + 60))
for m in red green blue; do
	$CC -O2 -g -fPIC -shared -fomit-frame-pointer -DNAME="$m" -o "$work/$m.so" \
		"$srcdir/tests/stress/storm-module.c" || fail "$m.so: not built"
done
env LD_PRELOAD="$CP_LIBRARY" CPROF_CONTROL=on timeout -s KILL $((seconds + 120)) "$builddir/tests/stress/storm-host" \
	"$seconds" "$work/red.so" "$work/green.so" "$work/blue.so" >"$work/storm.out" 2>"$work/storm.err" &
timed=$!
owns $timed
host_of() { pid=$(pgrep -P $timed) && has_socket "$pid"; }
wait_for 60 host_of || fail "no control socket"
timeout $((seconds * 2)) $python "$srcdir/tests/lib/control-client.py" turns libcprof/$pid "$rounds" || harm "the client: status $?"
lists $pid - || fail "modes are left on: $("$cprof" ps)"
status=0
wait $timed || status=$?
check_status storm 0
check_quiet storm
finish
