#!/bin/bash
# What the lock mode costs: a mutex pair that nobody contends, and the throughput of one that eight
# threads share. Paired runs, medians. LOCK_ROUNDS: rounds of the second.
. "$srcdir/tests/lib/e2e.sh"
rounds=${LOCK_ROUNDS:-101}
$CC -O2 -D_GNU_SOURCE -o "$work/lock" "$srcdir/bench/lock.c" -lpthread -ldl || exit 1
seconds=0.2

echo "A free mutex, lock and unlock; medians over 301 turns in one run"
printf 'mode off:  '
LD_PRELOAD="$CP_LIBRARY" "$work/lock" pair
printf 'mode on:   '
LD_PRELOAD="$CP_LIBRARY" LOCKPROFILE="$work/pair.pb" "$work/lock" pair

echo "Eight threads and one mutex: throughput with the mode on, of that without the library"
for round in $(seq "$rounds"); do
	# In turns, each first as often as second.
	if [ $((round % 2)) = 0 ]; then
		bare=$("$work/lock" contended $seconds)
		ours=$(LD_PRELOAD="$CP_LIBRARY" LOCKPROFILE="$work/c.pb" "$work/lock" contended $seconds)
	else
		ours=$(LD_PRELOAD="$CP_LIBRARY" LOCKPROFILE="$work/c.pb" "$work/lock" contended $seconds)
		bare=$("$work/lock" contended $seconds)
	fi
	echo "$bare $ours"
done >"$work/pairs"
awk '{ print $2 / $1 }' "$work/pairs" | sort -n | awk '
	{ r[NR] = $1 }
	END { printf "median of %d pairs: %.1f %% (quartiles %.1f, %.1f)\n", NR, 100 * r[int((NR + 1) / 2)],
		100 * r[int((NR + 3) / 4)], 100 * r[int((3 * NR + 1) / 4)] }'
awk '{ b += $1; o += $2 } END { printf "means: %.3g and %.3g pairs a second, %.1f %%\n", b / NR, o / NR, 100 * o / b }' "$work/pairs"
finish
