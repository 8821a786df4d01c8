# SPDX-License-Identifier: BSD-3-Clause
# Under each storm (CONTROL_STORMS: only these) modes are started and stopped CONTROL_ROUNDS times (default 10000): each
# time that succeeds, and the file is there. Then as many requests of all kinds: modes are turned on and off, and set,
# windows are taken by several consumers, all threads are looked at. No crash, no hang, no request without an answer;
# afterwards no mode is left on. A process accepts fifty requests a second, so a storm takes a quarter of an hour. It
# lasts as long as the client.
. "$srcdir/tests/lib/control.sh"

rounds=${CONTROL_ROUNDS:-10000}
# Half as fast on a busy machine.
limit=$((rounds / 4 + 60))
for m in red green blue; do
	$CC -O2 -g -fPIC -shared -fomit-frame-pointer -DNAME="$m" -o "$work/$m.so" \
		"$srcdir/tests/stress/storm-module.c" || fail "$m.so: not built"
done
$CC -O1 -fno-builtin -shared -fPIC -Wl,-soname,plugin.so -o "$work/plugin.so" -xc - <<'END' || fail "plugin.so: not built"
#include <stdlib.h>
int plugin_run(void)
{
	void *volatile p = malloc(500);

	free(p);
	return 1;
}
END
$CC -O1 -fno-builtin -D_GNU_SOURCE -iquote "$srcdir/tests/lib" -o "$work/heap-storm" "$srcdir/tests/stress/heap-storm.c" \
	-lpthread -ldl || fail "heap-storm: not built"

# Runs a storm, whose first argument says how long it lasts: until its input ends.
storm() { # name program arguments...
	local name=$1 timed storming status=0
	case " ${CONTROL_STORMS:-$name} " in *" $name "*) ;; *) return ;; esac
	mkfifo "$work/$name.in"
	mkdir "$work/$name"
	env LD_PRELOAD="$CP_LIBRARY" CPROF_CONTROL=on timeout -s KILL $((limit * 2)) "$2" 0 "${@:3}" \
		<"$work/$name.in" >"$work/$name.out" 2>"$work/$name.err" &
	timed=$!
	owns $timed
	exec {storming}>"$work/$name.in"
	host_of() { pid=$(pgrep -o -P $timed) && has_socket "$pid"; }
	wait_for 60 host_of || fail "$name: no control socket"
	for what in "starts libcprof/$pid $rounds $work/$name" "turns libcprof/$pid $rounds"; do
		timeout $limit $python "$srcdir/tests/lib/control-client.py" $what >"$work/$name.client" 2>&1 ||
			harm "$name: ${what%% *}: status $?: $(tail -n 3 "$work/$name.client")"
		echo "# $name: ${what%% *}: $(tail -n 1 "$work/$name.client")"
	done
	lists $pid - || fail "$name: modes are left on: $("$cprof" ps)"
	exec {storming}>&-
	wait $timed || status=$?
	check_ended "$name" 0
	rm -rf "${work:?}/$name"
}
storm unwinding "$builddir/tests/stress/storm-host" "$work/red.so" "$work/green.so" "$work/blue.so"
storm locks "$builddir/tests/traps/lock_storm/host"
storm heap "$work/heap-storm" "$work/plugin.so"
storm forks "$builddir/tests/traps/fork_while_others_work/host" "$work/plugin.so"
storm loader "$builddir/tests/traps/handler_takes_no_lock/host" "$work/red.so" "$work/green.so"
finish
