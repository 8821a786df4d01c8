#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each public header compiles alone, without a warning, as C99, C11 and C++11.
set -eu
include=${srcdir:-.}/include
warnings="-Wall -Wextra -Wpedantic -Wstrict-prototypes -Wshadow -Werror"
failed=0 count=0

compile() { # compiler language standard header
	printf '#include <%s>\n' "$4" |
		$1 -x "$2" -std="$3" -fsyntax-only -I"$include" ${5:-$warnings} - ||
		{ echo "include/$4 does not compile alone as $3 with $1" >&2; failed=1; }
}

while read -r header; do
	count=$((count + 1))
	compile "${CC:-cc}" c c99 "$header"
	compile "${CC:-cc}" c c11 "$header"
	if [ -n "${CXX:-}" ]; then
		compile "$CXX" c++ c++11 "$header" "${warnings/-Wstrict-prototypes/}"
	fi
done < <(cd "$include" && find . -name '*.h' | sed 's,^\./,,')
[ "$count" -gt 0 ] || { echo "no public header yet"; exit 77; }
exit $failed
