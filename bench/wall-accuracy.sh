#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The wall clock against the truth: programs of bench/wall-truth.c, whose functions and states are measured by their own
# clocks and the kernel's. For each, over all runs: the mean of estimate/truth, its standard error, and the standard
# deviation of a run. WALL_RUNS: of each program (30); WALL_RUN_SECONDS: of each run (2); WALL_PROGRAMS: only those.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"

runs=${WALL_RUNS:-30}
seconds=${WALL_RUN_SECONDS:-2}
make -s tests/tools/pprof-check >&2 || exit 1
$CC -O2 -g -o "$work/wall-truth" "$srcdir/bench/wall-truth.c" -lpthread || exit 1

# "what estimate/truth" for each line of the truth. Main only waits for the others.
one_run() { # program
	(cd "$work" && env LD_PRELOAD="$CP_LIBRARY" WALLPROFILE="$work/w.pb" CPROF_SYMBOLIZE=names ./wall-truth "$1" "$seconds") >"$work/truth" || return
	"$pprof_check" --raw "$work/w.pb" | awk -F '\t' '
		NR == FNR { split($0, t, " "); truth[t[1]] = t[2]; next }
		$3 ~ /;main;/ { next }
		{ split($1, v, ",")
		  for (what in truth)
			if ((";" $3 ";") ~ (";" what ";") || $2 ~ ("state=" what "(,|$)")) got[what] += v[2] }
		END { for (what in truth) if (truth[what] > 0) print what, got[what] / truth[what] }' "$work/truth" -
}

printf '%-8s %-16s %8s %8s %8s\n' program what mean error deviation
for program in ${WALL_PROGRAMS:-queue fsync mutex rwlock short}; do
	for _ in $(seq "$runs"); do one_run "$program"; done >"$work/ratios"
	awk -v p="$program" '{ n[$1]++; s[$1] += $2; q[$1] += $2 * $2 }
		END { for (w in n) { m = s[w] / n[w]; d = n[w] > 1 ? sqrt((q[w] - n[w] * m * m) / (n[w] - 1)) : 0
			printf "%-8s %-16s %8.3f %8.3f %8.3f\n", p, w, m, d / sqrt(n[w]), d } }' "$work/ratios" | sort
	while read -r what ratio; do
		echo "$ratio" | record wall-accuracy times_the_truth program="$program" what="$what"
	done <"$work/ratios"
done
