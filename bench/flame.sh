#!/bin/bash
# Opening and zooming the page of `cprof flame` with 100,000 distinct stacks; see flame-page.py.
set -eu
. "${srcdir:-$(dirname "$0")/..}/bench/lib.sh"
command -v chromium >/dev/null && command -v python3 >/dev/null || { echo "chromium or python3 is not installed"; exit 0; }
[ -x ./cprof ] || { echo "the tool is not built"; exit 0; }
export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$srcdir/bench/flame-generate.py" 100000 "$work/stacks.pb"
python3 "$srcdir/bench/flame-page.py" ./cprof "$work/stacks.pb" | tee "$work/said"
sed -n 's/.*graph drawn: median \([0-9]*\) ms.*/\1/p' "$work/said" | record flame ms what=first_drawing
sed -n 's/^zoom, work of a frame: median \([0-9.]*\),.*/\1/p' "$work/said" | record flame ms what=step_of_a_zoom
