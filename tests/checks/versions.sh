#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Where libc has two different functions of one name, lib/host/real.c names the version that is wanted: dlsym of glibc
# before 2.36 finds the oldest. The oldest pthread_cond_signal wakes nobody in today's pthread_cond_wait.
set -eu
export LC_ALL=C
source=${srcdir:-.}
library=${CP_LIBRARY:-.libs/libcprof.so}
[ -s "$library" ] || { echo "$library is not built" >&2; exit 1; }
libc=$(ldd "$library" | sed -n 's/.*libc\.so\.6 => \([^ ]*\) .*/\1/p')
[ -s "$libc" ] || { echo "SKIP: no libc.so.6"; exit 77; }
table() { # file
	"${READELF:-readelf}" --dyn-syms -W "$1" | awk '$7 != "UND" && $8 != "" { print $8, $2 }'
}
twice=$(join <(table "$library" | sed 's/[@ ].*//' | sort -u) <(table "$libc" | sed -n 's/@@*[^ ]* / /p' | sort -u) |
	cut -d ' ' -f 1 | uniq -d)
[ "$(uname -m)" != x86_64 ] || [ "$twice" ] || { echo "FAIL: no function twice in $libc"; exit 1; }
status=0
for name in $twice; do
	sed -n '/^static const char \*version_of/,/^}/p' "$source/lib/host/real.c" | grep -qF "\"$name\"" ||
		{ echo "FAIL: $libc has two functions $name, and version_of() in lib/host/real.c names none"; status=1; }
done
exit $status
