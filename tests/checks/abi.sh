# SPDX-License-Identifier: BSD-3-Clause
# The ABI only grows: the items that tests/checks/abi.txt records (exported functions of the public headers with
# their types, sizes and offsets of structs, numbers) are there, unchanged. The types need gcc, whichever compiler the
# build uses. New items are recorded in the same commit, by
#     bash tests/checks/abi.sh --print        in a build directory, with $srcdir set
# A struct that begins with its own size may grow at its end; record the new size and the new fields then.
set -eu
source=${srcdir:-.}
library=${CP_LIBRARY:-.libs/libcprof.so}
[ -s "$library" ] || { echo "$library is not built" >&2; exit 1; }
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# extern int cprof_stop (void); without the names of parameters, which may change.
print_functions() {
	find "$source/include" -name '*.h' -printf '#include "%P"\n' >"$temporary/all.c"
	gcc -I"$source/include" -fsyntax-only -aux-info "$temporary/functions" "$temporary/all.c"
	sed -nE 's,^/\* [^ ]*/include/(cprof|gperftools/[a-z-]*)\.h:[^/]*\*/ extern (.*);.*,function \2,p' "$temporary/functions"
}

print_abi() {
	${CC:-cc} -I"$source/include" -o "$temporary/abi" "$source/tests/checks/abi.c"
	"$temporary/abi"
	${NM:-nm} -D --defined-only "$library" | sed -n 's/.* \([^ ]*@@*CPROF_[0-9.]*\)$/symbol \1/p'
	! command -v gcc >/dev/null || print_functions
}

print_abi | sort >"$temporary/now"
[ "${1:-}" != --print ] || { cat "$temporary/now"; exit 0; }
[ "$(grep -c '^symbol ' "$temporary/now")" -gt 10 ] || { echo "no symbols were found in $library" >&2; exit 1; }
grep -v '^#' "$source/tests/checks/abi.txt" | { command -v gcc >/dev/null && cat || grep -v '^function '; } |
	sort >"$temporary/recorded"
failed=0
gone=$(comm -13 "$temporary/now" "$temporary/recorded")
[ -z "$gone" ] || { echo "changed or gone, which breaks programs that were built before:"; echo "$gone"; failed=1; } >&2
new=$(comm -23 "$temporary/now" "$temporary/recorded")
[ -z "$new" ] || { echo "not recorded in tests/checks/abi.txt:"; echo "$new"; failed=1; } >&2
# The check itself sees a change.
sed 's/^number CPROF_WALL 1$/number CPROF_WALL 2/' "$temporary/now" >"$temporary/other"
[ -n "$(comm -13 "$temporary/other" "$temporary/recorded")" ] || { echo "this check sees no changed number" >&2; failed=1; }
exit $failed
