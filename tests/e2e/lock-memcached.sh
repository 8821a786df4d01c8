#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# memcached under load: its workers wait for each other's locks; every client gets the same answers.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/lock.sh"
need memcached python3
answers() {
	python3 -c "import socket; socket.create_connection(('127.0.0.1', $port))" && kill -0 $server
}

serve() { # name environment...
	serve_name=$1
	shift
	for port in $((21000 + $$ % 20000)) $((21001 + $$ % 20000)) $((21002 + $$ % 20000)); do
		env "$@" memcached -u "$(id -un)" -t 4 -l 127.0.0.1 -p $port -U 0 -m 64 \
			>"$work/$serve_name.out" 2>"$work/$serve_name.err" &
		server=$!
		owns $server
		wait_for 10 answers 2>/dev/null && break
		kill $server 2>/dev/null
		wait $server
		server=
	done
	[ -n "$server" ] || skip "memcached did not start: $(tail -n 1 "$work/$serve_name.err")"
	python3 "$srcdir/tests/lib/memcached-load.py" $port >"$work/$serve_name.answers" 2>&1
	kill $server
	status=0
	wait $server || status=$?
}

serve bare
bare_status=$status
serve profiled LD_PRELOAD="$CP_LIBRARY" LOCKPROFILE="$work/profiled.pb" CPUPROFILE="$work/profiled.cpu"
check_status profiled "$bare_status"
check_quiet profiled
cmp -s "$work/bare.answers" "$work/profiled.answers" || fail "other answers"
check_valid_as lock "$work/profiled.pb"
[ "$(lock_ns "$work/profiled.pb" '^pthread_mutex_lock;.*event_base_loop')" -gt 0 ] ||
	fail "no worker waited: $("$pprof_check" --top 5 "$work/profiled.pb")"
check_no_stack "$work/profiled.pb" '\[incomplete\]$'
finish
