#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The cost of the lock mode: a mutex pair without contention, and the throughput of a mutex that eight threads share,
# in wall and in CPU time. LOCK_ROUNDS: of the second.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"
rounds=${LOCK_ROUNDS:-301}
$CC -O2 -D_GNU_SOURCE -o "$work/lock" "$srcdir/bench/lock.c" -lpthread -ldl || exit 1

echo "A free mutex, lock and unlock; medians over 1001 turns in one run"
for round in 1 2 3; do
	for mode in off on; do
		printf 'mode %-4s  ' $mode:
		settings=
		[ $mode = off ] || settings="LOCKPROFILE=$work/pair.pb"
		env LD_PRELOAD="$CP_LIBRARY" $settings "$work/lock" pair mutex | tee "$work/pair.$mode.$round"
	done
done
# libc N  forward N  ours N  ours over forward N  ours over libc N  ...
for mode in off on; do
	column=2
	for by in libc forward libcprof over; do
		cat "$work/pair.$mode".* | awk -v c=$column '{ gsub(/ours over forward/, "over"); print $c }' |
			record lock-pair ns mode=$mode by=$by
		column=$((column + 2))
	done
done

echo "The same, of one that a thread has waited for before"
for round in 1 2 3; do
	printf 'mode on:    '
	LD_PRELOAD="$CP_LIBRARY" LOCKPROFILE="$work/pair.pb" "$work/lock" waited | tee "$work/waited.$round"
done
cat "$work"/waited.* | awk '{ gsub(/ours over forward/, "over"); print $8 }' | record lock-pair-waited ns mode=on by=over

column() { # number
	awk -v c="$1" '{ print $c }' "$work/turns"
}

quartiles() { # column
	column "$1" | sort -g | awk '
		{ r[NR] = $1 }
		END { printf "%.1f %% (%.1f to %.1f)", r[int((NR + 1) / 2)], r[int((NR + 3) / 4)], r[int((3 * NR + 3) / 4)] }'
}

# In turns of one process: two processes differ by more than what is looked for. The budget of stacks
# goes by time: what it saves up in libc's turns is spent in the first ms of ours, where eight threads
# took 2,600 a second, and then 740, of a budget of 800. So a turn is counted after its first 10 ms;
# and, as "saved", from its begin, when ours pay for the stacks of libc's turns, too.
turns() { # inside lead
	LD_PRELOAD="$CP_LIBRARY" LOCKPROFILE="$work/c.pb" "$work/lock" turns "$rounds" 20 "$1" 100 "$2" >"$work/turns"
}

echo "Eight threads and one mutex, $rounds rounds: throughput in per cent of libc's functions', with ours and with libc's again"
for inside in 20 300 3000; do
	turns $inside 10
	column 1 | record lock-throughput % inside=$inside
	column 2 | record lock-throughput-again % inside=$inside
	column 3 | record lock-throughput-cpu % inside=$inside
	column 4 | record lock-throughput-cpu-again % inside=$inside
	printf 'turns inside %-5s a second %s, again %s; a CPU second %s, again %s\n' $inside: \
		"$(quartiles 1)" "$(quartiles 2)" "$(quartiles 3)" "$(quartiles 4)"
	turns $inside 0
	column 1 | record lock-throughput-saved % inside=$inside
	printf '%19s with what was saved up %s, again %s; a CPU second %s, again %s\n' '' \
		"$(quartiles 1)" "$(quartiles 2)" "$(quartiles 3)" "$(quartiles 4)"
done
finish
