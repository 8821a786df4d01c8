# SPDX-License-Identifier: BSD-3-Clause
about="redis-server: redis-benchmark, scripts, a snapshot in a fork, a rewrite of the log, SIGTERM"
packages="redis-tools python3"
needs="redis-benchmark redis-cli redis-check-rdb python3"

# Debian's redis-tools has the server too, under another name; the package redis-server would start a service.
prepare() {
	ln -s "$(command -v redis-server || command -v redis-check-rdb)" redis-server
}

cli() {
	redis-cli -h 127.0.0.1 -p "$port" "$@"
}

answers() {
	[ "$(cli ping)" = PONG ]
}

load() {
	port=$(free_port)
	serve "$shared/redis-server" --port "$port" --bind 127.0.0.1 --save '' --appendonly yes --io-threads 2 \
		--dir "$PWD" --activedefrag no
	wait_for answers
	redis-benchmark -h 127.0.0.1 -p "$port" -n 6000 -c 20 -P 8 -q -r 5000 -t set,get,lpush,sadd,hset,zadd,mset >bench 2>&1 ||
		{ tail -n 2 bench; return 1; }
	cli eval 'for i = 1, 6000 do redis.call("zadd", "z", i % 977, "m" .. i) end return redis.call("zcard", "z")' 0
	cli eval 'return redis.sha1hex(table.concat(redis.call("zrange", "z", 0, -1), ","))' 0
	cli debug digest-value z
	cli config set save "" >/dev/null
	cli bgsave >/dev/null
	while cli info persistence | grep -q 'rdb_bgsave_in_progress:1'; do sleep 0.05; done
	cli bgrewriteaof >/dev/null
	while cli info persistence | grep -qE 'aof_rewrite_(in_progress|scheduled):1'; do sleep 0.05; done
	cli info persistence | grep -E 'rdb_last_bgsave_status|aof_last_bgrewrite_status'
	cli sort mylist limit 0 3 alpha
	cli nonsense
	stop_server TERM
	run redis-check-rdb dump.rdb | grep -oE 'RDB looks OK|bad'
}

verify() {
	has cpu '(readQueryFromClient|processCommand|luaV_execute).*;aeMain;.*_start$'
	has cpu 'rdbSave.*;aeMain;'
	has heap 'readQueryFromClient|processInputBuffer|aeMain'
}
