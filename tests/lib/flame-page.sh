# SPDX-License-Identifier: BSD-3-Clause
# Runs SCRIPT of tests/e2e/ on the page of `cprof flame` in headless Chromium.
srcdir=$(cd "$srcdir" && pwd)
for program in python3 chromium; do
	command -v "$program" >/dev/null || { echo "SKIP: $program is not installed"; exit 77; }
done
[ -x ./cprof ] || { echo "SKIP: the tool is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PYTHONDONTWRITEBYTECODE=1 timeout -s KILL 120 python3 "$srcdir/tests/e2e/$script" "$PWD/cprof" "$work" "$PWD/tests/tools/make-times"
