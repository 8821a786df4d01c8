# SPDX-License-Identifier: BSD-3-Clause
# Commands for redis, as its append-only file holds them: strings, counters, hashes, sorted sets and lists; the last one ends it.
function cmd(s,   n, a, i) { n = split(s, a, " "); printf "*%d\r\n", n; for (i = 1; i <= n; i++) printf "$%d\r\n%s\r\n", length(a[i]), a[i] }
BEGIN {
	for (i = 1; i <= 250000; i++) {
		k = (i * 7919) % 60000
		cmd("SET key:" k " value-" i); cmd("GET key:" (k * 31) % 60000)
		cmd("INCR count:" k % 500); cmd("HSET hash:" k % 900 " field:" i % 300 " " i)
		cmd("ZADD zset:" k % 40 " " k " member:" i % 5000); cmd("LPUSH list:" k % 100 " item:" i)
		if (i % 4 == 0) cmd("LRANGE list:" k % 100 " 0 30")
		if (i % 50 == 0) cmd("ZRANGE zset:" k % 40 " 0 100"); if (i % 60 == 0) cmd("LTRIM list:" k % 100 " 0 400")
	}
	cmd("SHUTDOWN NOSAVE NOW")
}
