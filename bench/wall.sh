#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The cost of the wall clock: threads that wait, by their number, compared with a signal to each of them; and the
# shares of a program that sleeps 30 ms, polls 40 and computes 30. WALL_SECONDS: of each run (10); WALL_ROUNDS: of the
# first table (3), whose medians are printed.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"

seconds=${WALL_SECONDS:-10}
rounds=${WALL_ROUNDS:-3}
host=./tests/e2e/wall-host
make -s "${host#./}" tests/tools/pprof-check >&2 || exit 1
$CC -O2 -D_GNU_SOURCE -pthread -o "$work/signal-all" "$srcdir/bench/signal-all.c" || exit 1

median() {
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

share() { # tags command...
	share_tags=$1
	shift
	for _ in $(seq "$rounds"); do "$@"; done >"$work/share"
	awk -v s="$seconds" '{ print $1 / s / 1e7 }' "$work/share" | record wall-idle %_of_a_core $share_tags
	median <"$work/share" | awk -v s="$seconds" '{ printf "%9.2f %%", $1 / s / 1e7 }'
}

walled() { # frequency threads
	env LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/w.pb" WALLPROFILE_FREQUENCY="$1" \
		"$host" idle "$2" "$seconds" "$3"
}

echo "Threads that wait: CPU time of the process, in parts of one core"
printf '%8s %6s %12s %12s %12s\n' threads Hz bare wall 'signal all'
for n in 1 10 100 200 1000 10000; do
	signals=-
	# Until the looks are as rare as they become.
	after=0.3
	[ $n -lt 10000 ] || after=12
	# More would keep every core busy.
	[ $n -gt 1000 ] || signals=$(share "threads=$n by=signal_to_all" "$work/signal-all" $n 50 "$seconds")
	printf '%8s %6s %12s %12s %12s\n' $n 50 "$(share "threads=$n by=bare" "$host" idle $n "$seconds")" \
		"$(share "threads=$n by=libcprof" walled 50 $n $after)" "$signals"
done

echo
echo "Shares of 20 s at 50 Hz, by the program itself and by the profile, in points"
env LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/s.pb" "$host" shares 20 >"$work/said"
"$pprof_check" --raw "$work/s.pb" | awk -F '[,\t]' -v file="$work/said" '
	{ total += $2 }
	match($0, /do_sleep|do_poll|compute/) { ns[substr($0, RSTART, RLENGTH)] += $2 }
	END {
		while ((getline line < file) > 0) { split(line, w, " "); own[w[1]] = w[2]; all += w[2] }
		for (n in own) printf "%-10s %8.2f %8.2f\n", n, own[n] * 100 / all, ns[n] * 100 / total
	}' | tee "$work/shares"
awk '{ print $3 - $2 }' "$work/shares" | awk '{ print $1 < 0 ? -$1 : $1 }' | sort -g | tail -n 1 | record wall-shares points which=worst
