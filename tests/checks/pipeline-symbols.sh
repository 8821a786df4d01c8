#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tests/checks/pipeline-allowed.txt lists the functions that each module of lib/ may call: the collector and a dump at
# exit must not need malloc, stdio, a locale or the loader. And calls go one way: no two modules call each other,
# directly or around a circle.
set -eu
checks=${srcdir:-.}/tests/checks
. "$checks/undefined.sh"

outside_of_list() { # archive or object
	{
		defined "$1" | sed 's/^/D /'
		grep -v '^#' "$checks/pipeline-allowed.txt" | sed 's/^/A /'
		undefined "$1" | sed 's/^/U /'
	} | awk '
		$1 == "D" { own[$2] = 1 }
		$1 == "A" { for (i = 3; i <= NF; i++) ok[$2, $i] = 1 }
		$1 == "U" && !(own[$3] || ok["*", $3] || ok[$2, $3] || ok[$2, "any"]) {
			print $2 ".c needs " $3
		}'
}

# "caller callee" for calls among the modules, as tsort reads it.
calls_among() {
	{
		${NM:-nm} -A -g --defined-only "$@" |
			sed -n 's/^.*[:\/]\([^ :\/]*\)\.o:[^ ]* *[A-Z] \(.*\)$/D \1 \2/p' | sed 's/ [a-z_]*_la-/ /'
		grep '^upward' "$checks/pipeline-allowed.txt"
		undefined "$@" | sed 's/^/U /'
	} | awk '
		$1 == "D" { in_module[$3] = $2 }
		$1 == "upward" { upward[$2, $3] = 1 }
		$1 == "U" && $3 in in_module && in_module[$3] != $2 && !upward[$2, in_module[$3]] {
			print $2, in_module[$3]
		}' | sort -u
}

circles_in() {
	calls_among "$@" | tsort 2>&1 >/dev/null | sed 's/^tsort: //; s/.*contains a loop:/|/' | tr '\n' ' '
}

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
cat >"$temporary/bad.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
int bad(pthread_mutex_t *m)
{
	return printf("%p", malloc(1)) + pthread_mutex_lock(m) + !dlopen("x", 1);
}
END
${CC:-cc} -O2 -fPIC -c -o "$temporary/bad.o" "$temporary/bad.c"
for symbol in malloc printf pthread_mutex_lock dlopen; do
	outside_of_list "$temporary/bad.o" | grep -q "bad.c needs $symbol\$" ||
		fail "this check does not see a call to $symbol"
done

for pair in "one two" "two one"; do
	echo "int f_${pair#* }(void); int f_${pair% *}(void) { return f_${pair#* }(); }" >"$temporary/${pair% *}.c"
	${CC:-cc} -fPIC -c -o "$temporary/${pair% *}.o" "$temporary/${pair% *}.c"
done
[ -n "$(circles_in "$temporary/one.o" "$temporary/two.o")" ] || fail "this check does not see a circle"

archive=.libs/libcprof-internal.a
[ -s "$archive" ] || { echo "$archive is not built" >&2; exit 1; }
[ "$(defined "$archive" | grep -c '^cp_')" -gt 10 ] || fail "$archive defines next to nothing"
found=$(outside_of_list "$archive" | grep -v ' needs _dl_find_object$' || true)
[ -z "$found" ] || fail "$found
Not in tests/checks/pipeline-allowed.txt."
circles=$(circles_in "$archive")
[ -z "$circles" ] || fail "modules that call each other in a circle: $circles"
exit $failed
