# SPDX-License-Identifier: BSD-3-Clause
# cprof folded and convert: each format opened by its own reader where that is installed.
srcdir=$(cd "$srcdir" && pwd)
command -v python3 >/dev/null || { echo "SKIP: python3 is not installed"; exit 77; }
[ -x ./cprof ] || { echo "SKIP: the tool is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PYTHONDONTWRITEBYTECODE=1 python3 "$srcdir/tests/e2e/flame-formats.py" "$PWD/cprof" "$work"
