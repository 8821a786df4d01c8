#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The cost of heap profiles for a server: CPU milliseconds of redis-server while redis-benchmark fills it and reads it
# over loopback. Four servers live side by side: bare, bare again, at the default interval, and in exact mode. They
# get a load of a third of a second at the same time, on one processor, ROUNDS times: other work on the machine
# affects all four alike. Prints the median of each, and of each one's difference from the first bare one in its
# round; the second bare one's difference is the noise. One-time costs, until the server answers and from its shutdown
# on, are listed separately: their share depends on the length of a run.
set -u
. "${srcdir:-$(dirname "$0")/..}/bench/lib.sh"
rounds=${REDIS_ROUNDS:-${ROUNDS:-25}}
requests=${REQUESTS:-10000}
library=${CP_LIBRARY:-$PWD/.libs/libcprof.so}
work=$(mktemp -d)
declare -A server port
declare -A names=([again]=again [512K]=heap [exact]=heap-exact)
trap '[ ${#server[@]} = 0 ] || kill "${server[@]}" 2>/dev/null; rm -rf "$work"' EXIT
# It may be installed under its other name only.
if ! command -v redis-server >/dev/null && command -v redis-check-rdb >/dev/null; then
	mkdir "$work/bin"
	ln -s "$(command -v redis-check-rdb)" "$work/bin/redis-server"
	PATH=$work/bin:$PATH
fi
for program in redis-server redis-benchmark redis-cli; do
	command -v $program >/dev/null || { echo "$program is not installed"; exit 0; }
done
next_port=$((20000 + $$ % 20000))
cpu=$(taskset -pc $$ | sed 's/.*[,: -]//') # the last that is allowed
taskset -pc "$cpu" $$ >/dev/null

answers() { # configuration
	for _ in $(seq 100); do
		redis-cli -h 127.0.0.1 -p "${port[$1]}" info server 2>/dev/null | grep -q "process_id:${server[$1]}" && return
		sleep 0.05
	done
	echo "redis-server did not start: $(tail -n 1 "$work/out.$1")" >&2
	exit 1
}

# Of all its threads, the collector's too.
cpu_ms() { # configuration
	cat /proc/"${server[$1]}"/task/*/schedstat | awk '{ ns += $1 } END { printf "%.1f\n", ns / 1e6 }'
}

# Into $ended: CPU ms of the children that were waited for.
look_at_ended() {
	times >"$work/ended" # of this shell: not in one of its own
	ended=$(awk 'NR == 2 { gsub("s", ""); split($1, u, "m"); split($2, s, "m"); print (u[1] + s[1]) * 60000 + (u[2] + s[2]) * 1000 }' "$work/ended")
}

begin() { # configuration
	settings=
	case $1 in
	512K) settings="LD_PRELOAD=$library HEAPPROFILE=$work/p.pb" ;;
	exact) settings="LD_PRELOAD=$library HEAPPROFILE=$work/x.pb CPROF_HEAP_INTERVAL=1" ;;
	esac
	port[$1]=$next_port
	next_port=$((next_port + 1))
	(cd "$work" && exec env CPROF_SYMBOLIZE=names $settings redis-server --port "${port[$1]}" --bind 127.0.0.1 \
		--save '' --appendonly no >"$work/out.$1" 2>&1) &
	server[$1]=$!
	answers "$1"
	cpu_ms "$1" >"$work/begin.$1"
	load "$1" >"$work/warm"
}

# CPU ms of a load.
load() { # configuration
	began=$(cpu_ms "$1")
	redis-benchmark -h 127.0.0.1 -p "${port[$1]}" -n "$requests" -r 20000 -d 1000 -c 20 -P 4 -q -t set,get,lpush,hset \
		>"$work/bench.$1" 2>&1 || exit 1
	redis-cli -h 127.0.0.1 -p "${port[$1]}" del mylist >"$work/bench.$1" || exit 1
	echo "$(cpu_ms "$1") $began" | awk '{ print $1 - $2 }'
}

end() { # configuration
	ms=$(cpu_ms "$1")
	look_at_ended
	before=$ended
	kill "${server[$1]}"
	wait "${server[$1]}"
	unset "server[$1]"
	look_at_ended
	echo "$ended $before $ms" | awk '{ printf "%.1f\n", $1 - $2 - $3 }' >"$work/end.$1"
}

configurations=(bare again 512K exact)
for c in "${configurations[@]}"; do begin "$c"; done
for round in $(seq "$rounds"); do
	loads=()
	for i in 0 1 2 3; do
		c=${configurations[(i + round) % 4]}
		load "$c" >"$work/load.$c" &
		loads+=($!)
	done
	wait "${loads[@]}"
	for c in "${configurations[@]}"; do echo "$round $c $(cat "$work/load.$c")" >>"$work/times"; done
done
for c in "${configurations[@]}"; do end "$c"; done

quartiles() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 3) / 4)], v[int((NR + 1) / 2)], v[int((3 * NR + 3) / 4)] }'; }

printf '%-8s %12s   %-52s %12s %12s\n' '' 'CPU ms' 'to the bare one in its round: median (quartiles)' 'begin, ms' 'end, ms'
for c in "${configurations[@]}"; do
	read -r _ ms _ <<<"$(awk -v c="$c" '$2 == c { print $3 }' "$work/times" | quartiles)"
	awk -v c="$c" '$2 == "bare" { bare[$1] = $3 } $2 == c { ms[$1] = $3 }
		END { for (r in ms) printf "%.2f\n", (ms[r] / bare[r] - 1) * 100 }' "$work/times" >"$work/ratios"
	read -r low mid high <<<"$(quartiles <"$work/ratios")"
	[ "$c" = bare ] || record program-beside +% program=redis by="${names[$c]}" <"$work/ratios"
	printf '%-8s %12s   %-52s %12s %12s\n' "$c" "$ms" "$(printf '%+.1f %% (%+.1f to %+.1f)' "$mid" "$low" "$high")" \
		"$(cat "$work/begin.$c")" "$(cat "$work/end.$c")"
done
