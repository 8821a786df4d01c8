# SPDX-License-Identifier: BSD-3-Clause
# The closing line of "./bootstrap check" counts what it should, and what failed is shown:
# tests/count.sh and tests/failures.sh on made-up results.
set -eu
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

result() { # name result log
	printf ':test-result: %s\n:global-test-result: %s\n' "$2" "$2" >"$temporary/$1.trs"
	printf '%b' "$3" >"$temporary/$1.log"
}

result cases PASS 'ok 1 - a\nok 2 - b\nok 3 - c # SKIP why\n1..3\n'
result broken FAIL 'ok 1 - a\nnot ok 2 - b\n1..2\n'
result crashed FAIL 'ok 1 - a\nSegmentation fault\n'
result late FAIL 'ok 1 - a\n1..1\nleak found\n'
result script PASS 'done\n'
result absent SKIP 'not installed\n'
result error ERROR ''
got=$(sh "${srcdir:-.}/tests/count.sh" "$temporary" | tail -n 1)
want="5 passed, 4 failed, 2 skipped"
[ "$got" = "$want" ] || { echo "counted \"$got\", not \"$want\"" >&2; exit 1; }

got=$(sh "${srcdir:-.}/tests/failures.sh" "$temporary" 1 | tr '\n' '|')
want="--- ./broken.log|1..2|--- ./crashed.log|Segmentation fault|--- ./error.log|--- ./late.log|leak found|"
[ "$got" = "$want" ] || { echo "showed \"$got\", not \"$want\"" >&2; exit 1; }

rm -f "$temporary"/*
result fine PASS ''
got=$(sh "${srcdir:-.}/tests/count.sh" "$temporary" 2 | tail -n 1)
want="1 passed, 1 failed, 0 skipped"
[ "$got" = "$want" ] || { echo "a failed build: counted \"$got\", not \"$want\"" >&2; exit 1; }
