#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: failures.sh BUILD-DIRECTORY [LINES]
# The last LINES (default 20) of the log of each test that failed in a "make check".
set -eu
cd "$1"
find . -name '*.trs' -exec grep -lE '^:test-result: (FAIL|ERROR|XPASS)' {} + | sort |
	while read -r trs; do
		echo "--- ${trs%.trs}.log"
		tail -n "${2:-20}" "${trs%.trs}.log"
	done
