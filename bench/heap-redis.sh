#!/bin/bash
# What heap profiles cost a server: CPU milliseconds of redis-server while redis-benchmark fills it and reads it
# over loopback. Bare twice, at the default interval, and in exact mode take turns, ROUNDS times, in
# another order each time; the median of each, and of what each differs from the first bare run of
# its round. The second bare run's difference is the noise.
set -u
rounds=${ROUNDS:-9}
requests=${REQUESTS:-100000}
library=${CP_LIBRARY:-$PWD/.libs/libcprof.so}
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# It may be installed under its other name only.
if ! command -v redis-server >/dev/null && command -v redis-check-rdb >/dev/null; then
	mkdir "$work/bin"
	ln -s "$(command -v redis-check-rdb)" "$work/bin/redis-server"
	PATH=$work/bin:$PATH
fi
for program in redis-server redis-benchmark redis-cli; do
	command -v $program >/dev/null || { echo "$program is not installed"; exit 0; }
done
port=$((20000 + $$ % 20000))

answers() {
	for _ in $(seq 100); do
		redis-cli -h 127.0.0.1 -p $port info server 2>/dev/null | grep -q "process_id:$server" && return
		sleep 0.05
	done
	echo "redis-server did not start: $(tail -n 1 "$work/out")" >&2
	exit 1
}

# Of all its threads, the collector's too.
cpu_ms() {
	cat /proc/"$server"/task/*/schedstat | awk '{ ns += $1 } END { printf "%.1f\n", ns / 1e6 }'
}

# Into $ms.
one() { # configuration
	settings=
	case $1 in
	512K) settings="LD_PRELOAD=$library HEAPPROFILE=$work/p.pb" ;;
	exact) settings="LD_PRELOAD=$library HEAPPROFILE=$work/p.pb CPROF_HEAP_INTERVAL=1" ;;
	esac
	(cd "$work" && exec env CPROF_SYMBOLIZE=names $settings redis-server --port $port --bind 127.0.0.1 \
		--save '' --appendonly no >"$work/out" 2>&1) &
	server=$!
	answers
	redis-benchmark -h 127.0.0.1 -p $port -n "$requests" -r 20000 -d 1000 -c 20 -P 4 -q -t set,get,lpush,hset \
		>"$work/bench" 2>&1 || exit 1
	ms=$(cpu_ms)
	kill "$server"
	wait "$server"
	server=
}

configurations=(bare again 512K exact)
for round in $(seq "$rounds"); do
	for i in 0 1 2 3; do
		c=${configurations[(i + round) % 4]}
		one "$c"
		echo "$round $c $ms" >>"$work/times"
	done
done

quartiles() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 3) / 4)], v[int((NR + 1) / 2)], v[int((3 * NR + 3) / 4)] }'; }

printf '%-8s %12s   %s\n' '' 'CPU ms' 'to the bare run of its round: median (quartiles)'
for c in "${configurations[@]}"; do
	read -r _ ms _ <<<"$(awk -v c="$c" '$2 == c { print $3 }' "$work/times" | quartiles)"
	read -r low mid high <<<"$(awk -v c="$c" '$2 == "bare" { bare[$1] = $3 } $2 == c { ms[$1] = $3 }
		END { for (r in ms) printf "%.2f\n", (ms[r] / bare[r] - 1) * 100 }' "$work/times" | quartiles)"
	printf '%-8s %12s   %+.1f %% (%+.1f to %+.1f)\n' "$c" "$ms" "$mid" "$low" "$high"
done
