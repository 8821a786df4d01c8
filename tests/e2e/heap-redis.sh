# SPDX-License-Identifier: BSD-3-Clause
# A server filled by clients: its data is in use, at the place where requests are read or kept.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"
# As in redis.sh.
if ! command -v redis-server >/dev/null && command -v redis-check-rdb >/dev/null; then
	mkdir "$work/bin"
	ln -s "$(command -v redis-check-rdb)" "$work/bin/redis-server"
	PATH=$work/bin:$PATH
fi
need redis-server redis-benchmark redis-cli

answers() {
	[ "$(redis-cli -h 127.0.0.1 -p $port ping)" = PONG ] &&
		redis-cli -h 127.0.0.1 -p $port info server | grep -q "process_id:$server"
}

started=
for port in $((20000 + $$ % 20000)) $((20001 + $$ % 20000)) $((20002 + $$ % 20000)); do
	(cd "$work" && exec env LD_PRELOAD="$CP_LIBRARY" HEAPPROFILE="$work/redis.pb" CPROF_HEAP_INTERVAL=64K redis-server \
		--port $port --bind 127.0.0.1 --save '' --appendonly no >"$work/redis.out" 2>"$work/redis.err") &
	server=$!
	owns $server
	wait_for 10 answers && started=yes && break
	kill $server 2>/dev/null
	wait $server
done
[ -n "$started" ] || skip "redis-server did not start: $(tail -n 2 "$work/redis.out")"

# 20,000 keys or a little less, a thousand bytes each.
redis-benchmark -h 127.0.0.1 -p $port -n 60000 -r 20000 -d 1000 -c 20 -P 4 -q -t set >"$work/bench" 2>&1 ||
	fail "redis-benchmark: $(tail -n 1 "$work/bench")"
keys=$(redis-cli -h 127.0.0.1 -p $port dbsize)
used=$(redis-cli -h 127.0.0.1 -p $port info memory | tr -d '\r' | sed -n 's/^used_memory_dataset://p')
kill -USR2 $server
wait_for 10 test -s "$work/redis.0001.pb" || fail "no dump on SIGUSR2"
kill $server
status=0
wait $server || status=$?
check_status redis 0
check_quiet redis
check_heap "$work/redis.0001.pb" "$work/redis.pb"
read -r _ _ objects bytes <<<"$(heap_values "$work/redis.0001.pb" .)"
# Its own account, within a third and what it counts otherwise: the standard error of 320 samples is 6 %.
[ "$keys" -gt 15000 ] && [ "$bytes" -gt $((used * 5 / 10)) ] && [ "$bytes" -lt $((used * 17 / 10)) ] ||
	fail "$keys keys; $bytes bytes in use where redis says $used"
check_stack "$work/redis.0001.pb" '(setCommand|readQueryFromClient|processInputBuffer|aeProcessEvents|aeMain).*_start$'
finish
