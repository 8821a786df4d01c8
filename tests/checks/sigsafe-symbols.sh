#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks the rule for code that may run in a signal handler (lib/base/, lib/sample/, signal/ and guess/ folders):
# these objects need only the functions from elsewhere that tests/checks/sigsafe-allowed.txt lists. A call to malloc,
# errno or a lock can't hide.
set -eu
checks=${srcdir:-.}/tests/checks
. "$checks/undefined.sh"

outside_of_list() { # archive or object
	{ defined "$1"; grep -v '^#' "$checks/sigsafe-allowed.txt"; } >"$temporary/known"
	undefined "$1" | awk -v known="$temporary/known" '
		BEGIN { while ((getline symbol <known) > 0) is_known[symbol] = 1 }
		!($2 in is_known) { print $1 ".c needs " $2 }'
}

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
cat >"$temporary/bad.c" <<'END'
#include <errno.h>
#include <stdlib.h>
void cp_log(const char *, ...);
extern __thread int elsewhere;
void *cp_bad(void) { cp_log("x"); errno = elsewhere; return malloc(1); }
END
${CC:-cc} -O2 -fPIC -c -o "$temporary/bad.o" "$temporary/bad.c"
for symbol in malloc cp_log __errno_location __tls_get_addr; do
	outside_of_list "$temporary/bad.o" | grep -q " $symbol\$" ||
		fail "this check does not see a call to $symbol"
done

archive=.libs/libsigsafe.a
[ -s "$archive" ] || { echo "$archive is not built" >&2; exit 1; }
[ "$(defined "$archive" | grep -c '^cp_')" -gt 3 ] || fail "$archive defines next to nothing"
found=$(outside_of_list "$archive")
[ -z "$found" ] || fail "$found
Not in tests/checks/sigsafe-allowed.txt: this may not run in a signal handler."
exit $failed
