#!/bin/bash
# Every variable that the library reads is in README.md and cprof-environment(7), and links from one document
# to another lead somewhere.
set -eu
cd "${srcdir:-.}"
failed=0
wrong() {
	echo "$*" >&2
	failed=1
}

variables=$(grep -ohE '"(CPROF_|CPUPROFILE|WALLPROFILE|HEAPPROFILE|HEAP_PROFILE_|LOCKPROFILE)[A-Z_]*"' lib/config*.c | tr -d '"' | sort -u)
[ "$(wc -w <<<"$variables")" -ge 30 ] || wrong "lib/config.c names its variables in another way by now"
for variable in $variables; do
	for document in README.md man/cprof-environment.7; do
		grep -qw -- "$variable" "$document" || wrong "$document does not tell $variable"
	done
done
for document in *.md docs/*.md; do
	for link in $(grep -oE '\]\([^)#]+' "$document" | cut -c 3- | grep -v ://); do
		[ -e "$(dirname "$document")/$link" ] || wrong "$document leads to $link, which is not there"
	done
done
exit $failed
