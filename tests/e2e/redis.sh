#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A server under load on the loopback interface, ended by a signal that it handles.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/programs.sh"
# Debian's redis-tools has the server too, under another name; the package redis-server would
# start a service.
if ! command -v redis-server >/dev/null && command -v redis-check-rdb >/dev/null; then
	mkdir "$work/bin"
	ln -s "$(command -v redis-check-rdb)" "$work/bin/redis-server"
	PATH=$work/bin:$PATH
fi
need redis-server redis-benchmark redis-cli

# Its port is free at this time; if another process takes it, try the next.
start() { # name command-prefix...
	start_name=$1
	shift
	for port in $((20000 + $$ % 20000)) $((20001 + $$ % 20000)) $((20002 + $$ % 20000)); do
		(cd "$work" && exec "$@" redis-server --port $port --bind 127.0.0.1 --save '' \
			--appendonly no >"$work/$start_name.out" 2>"$work/$start_name.err") &
		server=$!
		owns $server
		wait_for 10 answers && return
		kill $server 2>/dev/null
		wait $server
	done
	skip "redis-server did not start: $(tail -n 2 "$work/$start_name.out")"
}

answers() {
	[ "$(redis-cli -h 127.0.0.1 -p $port ping)" = PONG ] &&
		redis-cli -h 127.0.0.1 -p $port info server | grep -q "process_id:$server"
}

load() { # name: what the server says to the same requests
	redis-benchmark -h 127.0.0.1 -p $port -n 150000 -c 20 -P 4 -q -t set,get,lpush \
		>"$work/$1.bench" 2>&1 || fail "$1: redis-benchmark: $(tail -n 1 "$work/$1.bench")"
	for request in 'set k v' 'get k' 'incr n' 'llen mylist' 'lpush l a b c' 'lrange l 0 -1' 'eval return(6*7) 0' nonsense; do
		redis-cli -h 127.0.0.1 -p $port $request
	done >"$work/$1.answers" 2>&1
}

stop() { # name
	kill $server
	status=0
	wait $server || status=$?
}

start bare env
load bare
stop bare
bare_status=$status

start redis env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE="$work/redis.pb"
load redis
stop redis
check_status redis "$bare_status"
check_quiet redis
cmp -s "$work/bare.answers" "$work/redis.answers" ||
	fail "other answers: $(diff "$work/bare.answers" "$work/redis.answers" | head -n 5)"
check_profile "$work/redis.pb"
check_top "$work/redis.pb" 3 write
check_stack "$work/redis.pb" '(readQueryFromClient|processCommand|aeProcessEvents|aeMain).*;main;|aeMain;.*_start$'
finish
