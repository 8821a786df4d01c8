#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Input and output against the truth: RUNS runs of programs whose functions share ops and kinds; for each function and type
# the mean over the truth, the standard deviation, and how many standard errors the mean is off. WHAT: which programs.
# Only long delays are compared: the program's own clock also sees what it costs to record a call.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/io.sh"
$CC -O2 -g -pthread -D_GNU_SOURCE -o "$work/io-accuracy" "$srcdir/bench/io-accuracy.c" || exit 1
make -s tests/tools/pprof-check >&2 || exit 1

for what in ${WHAT:-short errors bimodal sizes mixed threads crowd pipes}; do
	: >"$work/all"
	for _ in $(seq "${RUNS:-30}"); do
		CPROF_SYMBOLIZE=names CPROF_CHECKPOINT=0 io_profiled run "$work/io-accuracy" "$what"
		check_io_rows_sum "$work/run.pb"
		while read -r function op calls ns bytes errors; do
			read -r got_calls got_ns got_bytes got_errors <<<"$(io_values "$work/run.pb" "(^|;)$function[;.]" "op=$op")"
			echo "$function calls $calls $got_calls"
			[ "$what $function" != "bimodal waits" ] || echo "$function delay $ns $got_ns"
			echo "$function bytes $bytes $got_bytes"
			echo "$function errors $errors $got_errors"
		done <"$work/run.out" >>"$work/all"
	done
	awk -v what="$what" '
		$3 {
			key = $1 " " $2; x = $4 / $3
			n[key]++; sum[key] += x; squares[key] += x * x; truth[key] = $3
		}
		END {
			for (key in n) {
				split(key, k, " ")
				mean = sum[key] / n[key]
				spread = squares[key] / n[key] - mean * mean
				spread = spread > 1e-12 ? sqrt(spread * n[key] / (n[key] - 1)) : 0
				z = spread ? (mean - 1) / spread * sqrt(n[key]) : 0
				printf "%-8s %-14s %-6s %12d %7.3f %7.3f %+5.1f\n", what, k[1], k[2], truth[key], mean, spread, z
			}
		}' "$work/all" | sort
done
finish
