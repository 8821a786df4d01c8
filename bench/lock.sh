#!/bin/bash
# What the lock mode costs: a mutex pair that nobody contends, and the throughput of one that eight
# threads share, in wall and in CPU time. Paired runs, medians. LOCK_ROUNDS: rounds of the second.
. "$srcdir/tests/lib/e2e.sh"
rounds=${LOCK_ROUNDS:-101}
$CC -O2 -D_GNU_SOURCE -o "$work/lock" "$srcdir/bench/lock.c" -lpthread -ldl || exit 1

echo "A free mutex, lock and unlock; medians over 301 turns in one run"
printf 'mode off:  '
LD_PRELOAD="$CP_LIBRARY" "$work/lock" pair
printf 'mode on:   '
LD_PRELOAD="$CP_LIBRARY" LOCKPROFILE="$work/pair.pb" "$work/lock" pair

bare() { "$work/lock" contended $load; }
ours() {
	LD_PRELOAD="$CP_LIBRARY" LOCKPROFILE="$work/c.pb" CPROF_SYMBOLIZE=names \
		"$work/lock" contended $load
}

median() { # column: of the pairs' quotients
	awk -v c="$1" '{ print $(c + 2) / $c }' "$work/pairs" | sort -n | awk '
		{ r[NR] = $1 }
		END { printf "%.1f %% (quartiles %.1f, %.1f)", 100 * r[int((NR + 1) / 2)],
			100 * r[int((NR + 3) / 4)], 100 * r[int((3 * NR + 1) / 4)] }'
}

echo "Eight threads and one mutex: throughput with the mode on, of that without the library"
for load in "0.2 20 100" "0.2 300 100" "0.2 3000 100"; do
	for round in $(seq "$rounds"); do
		# In turns, each first as often as second.
		if [ $((round % 2)) = 0 ]; then
			b=$(bare) o=$(ours)
		else
			o=$(ours) b=$(bare)
		fi
		echo "$b $o"
	done >"$work/pairs"
	printf 'turns inside and outside %-10s a second %s, a CPU second %s\n' "${load#* }:" "$(median 1)" "$(median 2)"
done
finish
