#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# docs/overhead.md is what its template and the figures of docs/overhead.json give, so that nobody mends a figure by
# hand; and what the template and the targets name is measured by some script.
set -eu
: "${srcdir:?is the source directory}"
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
failed=0
named=$(mktemp)
trap 'rm -f "$named"' EXIT

python3 "$srcdir/bench/report.py" docs "$srcdir/docs/overhead.json" "$srcdir/bench/overhead.md.in" |
	diff -u "$srcdir/docs/overhead.md" - ||
	{ echo "docs/overhead.md is not what \`make bench-docs\` made: see bench/overhead.md.in"; failed=1; }

{
	grep -oE '\{\{(table|value) [a-z-]+' "$srcdir/bench/overhead.md.in" | cut -d ' ' -f 2
	grep -v '^#' "$srcdir/bench/targets" | grep -oE '(m|q1|q3)\("[a-z-]+' | cut -d '"' -f 2
} | sort -u >"$named"
while read -r what; do
	grep -qE "record $what " "$srcdir"/bench/*.sh || { echo "no script of bench/ records \"$what\""; failed=1; }
done <"$named"
exit $failed
