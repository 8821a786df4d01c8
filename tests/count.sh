#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: count.sh BUILD-DIRECTORY [STATUS of make check]
# One closing line over all tests of a "make check": "N passed, N failed, N skipped". A test
# that reports TAP counts by its cases, any other as one. Failed ones are named above it. A make
# that failed although no test did (a test that does not build) is a failure too.
set -eu
cd "$1"
find . -name '*.trs' | sort | while read -r trs; do
	result=$(sed -n 's/^:global-test-result: //p; s/^:test-result: \([A-Z]*\).*/\1/p' "$trs" | tail -n 1)
	echo "TEST ${trs%.trs} $result"
	# Cases are read only when the plan shows that the test got to its end.
	if grep -qE '^1\.\.[0-9]+' "${trs%.trs}.log"; then
		grep -E '^(ok|not ok) ' "${trs%.trs}.log" || true
	fi
done | awk -v status="${2:-0}" '
	function close_test() {
		if (name == "") return
		bad = result == "FAIL" || result == "ERROR" || result == "XPASS"
		if (bad) print "FAILED " name
		if (bad && !cases_failed) cases_failed = 1
		else if (!cases && result == "SKIP") cases_skipped = 1
		else if (!cases && !bad) cases = 1
		passed += cases; failed += cases_failed; skipped += cases_skipped
		cases = cases_failed = cases_skipped = 0
	}
	$1 == "TEST" { close_test(); name = $2; result = $3; next }
	/^ok .*# SKIP/ { cases_skipped++; next }
	/^ok / { cases++; next }
	/^not ok / { cases_failed++ }
	END {
		close_test()
		if (status != 0 && !failed) {
			print "FAILED make check: see above"
			failed = 1
		}
		printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	}'
