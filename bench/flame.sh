#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Opening and zooming the page of `cprof flame` with 100,000 distinct stacks, and with a million; its tab Time with a million events. See flame-page.py.
set -eu
. "${srcdir:-$(dirname "$0")/..}/bench/lib.sh"
command -v chromium >/dev/null && command -v python3 >/dev/null || { echo "chromium or python3 is not installed"; exit 0; }
[ -x ./cprof ] || { echo "the tool is not built"; exit 0; }
export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for stacks in 100000 1000000; do
	of=
	[ "$stacks" = 100000 ] || of=_of_a_million
	echo "$stacks distinct stacks"
	python3 "$srcdir/bench/flame-generate.py" "$stacks" "$work/stacks.pb"
	python3 "$srcdir/bench/flame-page.py" ./cprof "$work/stacks.pb" | tee "$work/said"
	sed -n 's/.*graph drawn: median \([0-9]*\) ms.*/\1/p' "$work/said" | record flame ms "what=first_drawing$of"
	sed -n 's/^zoom, work of a frame: median \([0-9.]*\),.*/\1/p' "$work/said" | record flame ms "what=step_of_a_zoom$of"
done
[ -x ./tests/tools/make-times ] || { echo "tests/tools/make-times is not built"; exit 0; }
echo "a million events of 50 threads, 200,000 spans"
awk 'BEGIN {
	srand(1)
	print "time 1700000000s\nend 600s\ntype samples count\ntype cpu nanoseconds"
	for (i = 0; i < 50; i++) print "thread", 100 + i, "worker-" i
	for (i = 0; i < 5000; i++) print "sample main;a" i % 7 ";b" i % 211 ";c" i, "200 2000ms"
	for (i = 0; i < 1000000; i++) print "event", int(i / 50) * 30 + rand() * 10 "ms", i % 50, int(rand() * 5000), "10ms"
	for (i = 0; i < 200000; i++) print "span", int(i / 50) * 150 + rand() * 40 "ms", 1 + rand() * 100 "ms", i % 50, "request" i % 3
	for (i = 0; i < 600; i++) print "counter", i "s", 1e8 + i * 1e5, i * 3 "s"
}' | ./tests/tools/make-times "$work/times.pb.gz"
python3 "$srcdir/bench/flame-page.py" ./cprof "$work/times.pb.gz" "#tab=Time" | tee "$work/said"
sed -n 's/^Time drawn: median \([0-9]*\) ms.*/\1/p' "$work/said" | record flame ms what=time_first_drawing
sed -n 's/^Time, zoom, work of a frame: median \([0-9.]*\),.*/\1/p' "$work/said" | record flame ms what=time_step_of_a_zoom
