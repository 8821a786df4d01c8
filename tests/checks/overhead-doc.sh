# SPDX-License-Identifier: BSD-3-Clause
# docs/overhead.md is what its template and the figures of docs/overhead.json give, so that nobody mends a figure by
# hand; what the template and the targets name is measured by some script; and a part that was measured on another machine,
# or by another compiler, says so.
set -eu
: "${srcdir:?is the source directory}"
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
failed=0
work=$(mktemp -d)
named=$work/named
trap 'rm -rf "$work"' EXIT

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

# A part of today among the parts of another machine.
echo '{"machines": [{"cpu": "Other", "cores": 3, "virtual": false, "memory_gib": 1, "kernel": "5.10", "tick_hz": 250, "compiler": "cc 1",
	"packages": {}, "jemalloc_prof": null}], "parts": {"old": {"began": "-", "load": 0.5, "commit": "0123456789ab", "machine": 0}},
	"records": [{"part": "old", "what": "x", "tags": {"by": "a"}, "unit": "ns", "median": 1, "q1": 1, "q3": 1, "n": 1}]}' >"$work/old.json"
printf '#part\tnew\t-\t0.5\ny\tns\t2\t2\t2\t1\tby=a\n' >"$work/records"
printf '{{machine}}\n{{value x by=a}} {{value y by=a}}\n' >"$work/template"
# A compiler behind another command, as ccache is.
CC="env ${CC:-cc}" python3 "$srcdir/bench/report.py" collect --into "$work/old.json" "$work/records" "$work/new.json"
python3 "$srcdir/bench/report.py" docs "$work/new.json" "$work/template" >"$work/page"
compiler=$(${CC:-cc} --version | head -n 1)
for wanted in '^- A: a machine with 3 CPUs (Other), 1 GiB, Linux 5.10, kernel tick 250 Hz, cc 1\.' '^- B: ' \
	'^| old | - | 0.5 | 0123456789ab | A |' '^| new | - | 0.5 | .* | B |' '^1.00 ns 2.00 ns'; do
	grep -q "$wanted" "$work/page" || { echo "no line $wanted in:"; cat "$work/page"; failed=1; }
done
grep '^- B: ' "$work/page" | grep -qF ", $compiler." || { echo "machine B's compiler is not $compiler:"; cat "$work/page"; failed=1; }
exit $failed
