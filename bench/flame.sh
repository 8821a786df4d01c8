#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Opening and zooming the page of `cprof flame` with 100,000 distinct stacks, and with a million; see flame-page.py.
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
