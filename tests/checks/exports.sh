#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# libcprof.so exports what preload/libcprof.map lists, with its version, and the functions that it
# interposes, without one: each of these is a function of libc or libstdc++. The public
# headers declare exactly what the map lists.
set -eu
checks=${srcdir:-.}/tests/checks
. "$checks/undefined.sh"
source=${srcdir:-.}
library=${CP_LIBRARY:-.libs/libcprof.so}
[ -s "$library" ] || { echo "$library is not built" >&2; exit 1; }
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# Names in the map's global sections.
map_names() {
	sed 's,/\*[^*]*\*/,,g; s/#.*//' "$source/preload/libcprof.map" | tr '{};' '\n\n\n' |
		awk '{ gsub(/[ \t]/, "") } /^global:/ { on = 1; sub(/global:/, "") }
		     /^local:/ { on = 0 } /^CPROF/ { on = 0 } on && $0 != "" { print }' | sort -u
}

# Functions that a header declares without a body: top-level declarations, static ones left out.
declared_in() {
	${CC:-cc} -E -P -I"$source/include" "$1" | awk '
		{ text = text " " $0 }
		END {
			for (i = 1; i <= length(text); i++) {
				c = substr(text, i, 1)
				if (c == "{") depth++
				if (!depth) part = part c
				if (c == "}" && !--depth) part = part ";"
				if (!depth && (c == ";" || c == "}")) {
					if (part !~ /(^|[ \t])(static|typedef)[ \t]/ && part !~ /\};$/)
						print part
					part = ""
				}
			}
		}' | grep -oE '\b(cprof_|libcprof_|Profiler|ProfilingIs|HeapProfiler|IsHeapProfiler|GetHeapProfile)[A-Za-z0-9_]* *\(' |
		tr -d ' (' | sort -u
}

same() { # first second what
	diff "$1" "$2" >"$temporary/difference" || fail "$3:
$(grep '^[<>]' "$temporary/difference")"
}

map_names >"$temporary/map"
if grep -q '[*?[]' "$temporary/map"; then
	fail "preload/libcprof.map lists names, not patterns"
fi
${NM:-nm} -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort -u >"$temporary/all"
sed -n 's/@@*CPROF_.*//p' "$temporary/all" >"$temporary/public"
grep -v @ "$temporary/all" >"$temporary/interposed" || true
same "$temporary/map" "$temporary/public" "preload/libcprof.map (<) and the versioned exports (>) differ"

{ find "$source/include" -name '*.h'; echo "$source/lib/base/attach.h"; } | while read -r header; do declared_in "$header"; done |
	sort -u >"$temporary/declared"
same "$temporary/map" "$temporary/declared" "preload/libcprof.map (<) and include/ (>) differ"

for system in libc.so.6 libstdc++.so.6; do
	file=$(${CC:-cc} -print-file-name="$system")
	[ ! -e "$file" ] || ${NM:-nm} -D --defined-only "$file"
done | awk '{ sub(/@.*/, "", $3); print $3 }' >"$temporary/system"
# Other allocators', and later libcs'.
others="cfree free_sized free_aligned_sized mallocx rallocx xallocx dallocx sdallocx"
tr ' ' '\n' <<<"$others" >>"$temporary/system"
while read -r name; do
	grep -qxF "$name" "$temporary/system" ||
		fail "$name is exported without a version, but no library has it to interpose"
done <"$temporary/interposed"

# Of libiberty only what may be combined with other programs is linked (docs/licences.md). _sch_toupper is defined by safe-ctype.o.
for program in "$library" cprof; do
	[ ! -e "$program" ] || ! ${NM:-nm} "$program" 2>/dev/null | grep -q ' _sch_toupper$' ||
		fail "$program holds libiberty's safe-ctype.o: lib/symbols/demangle.c defines what is needed of it"
done
exit $failed
