#!/bin/bash
# What the lock mode costs: a mutex pair that nobody contends, and the throughput of one that eight
# threads share, in wall and in CPU time. Paired runs, medians. LOCK_ROUNDS: rounds of the second.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"
rounds=${LOCK_ROUNDS:-101}
$CC -O2 -D_GNU_SOURCE -o "$work/lock" "$srcdir/bench/lock.c" -lpthread -ldl || exit 1

echo "A free mutex, lock and unlock; medians over 301 turns in one run"
for round in 1 2 3; do
	for mode in off on; do
		printf 'mode %-4s  ' $mode:
		settings=
		[ $mode = off ] || settings="LOCKPROFILE=$work/pair.pb"
		env LD_PRELOAD="$CP_LIBRARY" $settings "$work/lock" pair | tee "$work/pair.$mode.$round"
	done
done
# libc N  forward N  ours N  ours over forward N ns a pair
for mode in off on; do
	column=2
	for by in libc forward libcprof over; do
		cat "$work/pair.$mode".* | awk -v c=$column '{ gsub(/ours over forward/, "over"); print $c }' |
			record lock-pair ns mode=$mode by=$by
		column=$((column + 2))
	done
done

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

echo "The same, of one that a thread has waited for before"
for round in 1 2 3; do
	printf 'mode on:    '
	LD_PRELOAD="$CP_LIBRARY" LOCKPROFILE="$work/pair.pb" "$work/lock" waited | tee "$work/waited.$round"
done
cat "$work"/waited.* | awk '{ gsub(/ours over forward/, "over"); print $8 }' | record lock-pair-waited ns mode=on by=over

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
	awk '{ print 100 * $3 / $1 }' "$work/pairs" | record lock-throughput % inside="$(cut -d ' ' -f 2 <<<"$load")"
	awk '{ print 100 * $4 / $2 }' "$work/pairs" | record lock-throughput-cpu % inside="$(cut -d ' ' -f 2 <<<"$load")"
	printf 'turns inside and outside %-10s a second %s, a CPU second %s\n' "${load#* }:" "$(median 1)" "$(median 2)"
done
finish
