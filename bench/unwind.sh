#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/unwind, as records: RUNS of it (3), whose medians of 301 rounds are the values.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/bench/lib.sh"
make -s bench/unwind >&2 || exit 1
for run in $(seq "${RUNS:-3}"); do
	./bench/unwind >"$work/run.$run"
	for depth in 300 1000; do ./bench/unwind $depth 51 >>"$work/run.$run"; done
done
cat "$work/run.1"
# "  own   13 frames   warm  5.7 ns/frame  74 ns/walk   cold  68 ns/frame"
awk '$1 == "depth" { depth = $2 + 0 }
	$3 == "frames" { print depth, $1, "warm", $5; if ($9 == "cold") print depth, $1, "cold", $10 }' "$work"/run.* >"$work/all"
cut -d ' ' -f 1-3 "$work/all" | awk '!seen[$0]++' | while read -r depth by caches; do
	awk -v d="$depth" -v b="$by" -v c="$caches" '$1 == d && $2 == b && $3 == c { print $4 }' "$work/all" |
		record unwind ns_a_frame by="$by" depth="$depth" caches="$caches"
done
awk '/to begin/ { big = / \// ? "big" : "small" } $1 == "own" && $2 == "start" { print big, $3 + $7 }' "$work"/run.* >"$work/begin"
for size in small big; do
	awk -v s=$size '$1 == s { print $2 }' "$work/begin" | record unwind-begin us with=$size
done
finish
