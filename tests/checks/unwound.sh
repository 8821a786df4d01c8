#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every function that the library exports has unwind tables: samples, exceptions and the cancellation of a thread pass
# through its frame. (The half of the library that no program's thread is seen in has none; lib/local.mk.)
set -eu
. "${srcdir:-.}/tests/checks/undefined.sh"
library=${CP_LIBRARY:-.libs/libcprof.so}
[ -s "$library" ] || { echo "$library is not built" >&2; exit 1; }

# The exported functions of FILE whose first instruction is in no description of .eh_frame.
without_tables() { # file
	{
		${READELF:-readelf} -W --debug-dump=frames "$1" 2>/dev/null |
			sed -n '/Contents of the .debug_frame/,$d; s/.* FDE .* pc=0*\([0-9a-f]*\)\.\..*/described \1/p'
		${READELF:-readelf} -W --dyn-syms "$1" |
			awk '$4 == "FUNC" && $7 ~ /^[0-9]/ && $8 !~ /^_(init|fini)$/ { sub(/^0*/, "", $2); print "exported", $2, $8 }'
	} | awk '$1 == "described" { is[$2] = 1 } $1 == "exported" && !is[$2] { print $3 }'
}

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
echo 'int cp_bare(int x) { return x + 1; }' >"$temporary/bad.c"
${CC:-cc} -shared -fPIC -fno-asynchronous-unwind-tables -fno-unwind-tables -o "$temporary/bad.so" "$temporary/bad.c"
[ "$(without_tables "$temporary/bad.so")" = cp_bare ] || fail "this check does not see a function without tables"

found=$(without_tables "$library")
[ -z "$found" ] || fail "exported without unwind tables: $found"
exit $failed
