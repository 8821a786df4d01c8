# SPDX-License-Identifier: BSD-3-Clause
# A function that other files call begins with its file's name: cp_<file>_<verb> in the library, ct_<file>_<verb> in
# the tool; and no two files of a program have one name. So a call tells where its function is.
set -eu
checks=${srcdir:-.}/tests/checks
. "$checks/undefined.sh"

# "file function" for each function that breaks the rule.
misnamed() { # archive or object...
	${NM:-nm} -A -g --defined-only "$@" 2>/dev/null |
		sed -n 's/^.*[:\/]\([^ :\/]*\)\.o:[^ ]* *T \(c[pt]_.*\)$/\1 \2/p' | sed 's/^[a-z_]*_la-//; s/-/_/g' |
		awk '{
			stem = substr($2, 1, 3) $1
			if ($2 != stem && index($2, stem "_") != 1) print $1 ".c defines " $2
		}'
}

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
echo 'int cp_other_verb(void) { return 0; } int cp_bad_verb(void) { return 0; }' >"$temporary/bad.c"
${CC:-cc} -c -o "$temporary/bad.o" "$temporary/bad.c"
[ "$(misnamed "$temporary/bad.o")" = "bad.c defines cp_other_verb" ] || fail "this check does not see a misnamed function"

set -- .libs/libsigsafe.a .libs/libcprof-internal.a
for archive; do
	[ -s "$archive" ] || { echo "$archive is not built" >&2; exit 1; }
done
found=$(misnamed "$@" $(find . -name '*libcprof_tool_la-*.o' -path '*.libs*') | sort -u)
[ -z "$found" ] || fail "$found"
twice=$(cd "${srcdir:-.}" && find lib preload -name '*.c' | sed 's,.*/,,' | sort | uniq -d)
[ -z "$twice" ] || fail "two files are called: $twice"
exit $failed
