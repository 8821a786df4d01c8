# SPDX-License-Identifier: BSD-3-Clause
# Every source file names the project's licence in its first two lines, and no other licence. --fix adds the line.
set -eu
cd "${srcdir:-.}"
failed=0
list=$(mktemp)
trap 'rm -f "$list" "$list.wrong"' EXIT
wrong() {
	echo "$*" >&2
	failed=1
}

grep -q '^Copyright (c) .* The libcprof authors$' COPYING || wrong "COPYING does not name The libcprof authors"
grep -q '^3\. Neither the name' COPYING || wrong "COPYING is not the licence of three clauses"
grep -q '^AC_INIT' configure.ac || wrong "configure.ac is not in $PWD"

# A build in the source folder leaves generated files among the sources.
sources() {
	find .ci bench completions examples include lib man preload tests tools -type f \
		\( -path .ci/run -o -path 'completions/*' -o -path 'man/*' -o -path tests/lib/modes/env \
		-o -name '*.[ch]' -o -name '*.cc' -o -name '*.map' -o -name '*.proto' -o -name '*.sh' -o -name '*.awk' \
		-o -name '*.py' -o -name '*.rs' -o -name '*.go' -o -name '*.mk' -o -name '*.js' -o -name '*.css' -o -name '*.html' \) \
		! -path 'tests/fuzz/corpus/*' ! -name '*.pb-c.[ch]' ! -name flame_embedded.c
	ls bootstrap configure.ac Makefile.am libcprof.pc.in .clang-format .clang-tidy
}

# The line comes first, or after a line that must be first.
add() { # file
	local line="SPDX-License-Identifier: BSD-3-Clause" first=1i
	case $1 in
	*.[ch] | *.cc | *.css | *.map) line="/* $line */" ;;
	*.rs | *.go | *.js | *.proto) line="// $line" ;;
	*.html) line="<!-- $line -->" ;;
	man/*) line=".\\\\\" $line" ;;
	*) line="# $line" ;;
	esac
	! head -n 1 "$1" | grep -q '^#!\|^#compdef\|^<!DOCTYPE' || first=1a
	sed -i "$first\\$line" "$1"
}

if [ "${1-}" = --fix ]; then
	while read -r file; do
		head -n 2 "$file" | grep -q SPDX-License-Identifier || add "$file"
	done < <(sources)
fi
sources >"$list"
count=$(wc -l <"$list")
xargs awk '
	function close_file() {
		if (name == "") return
		if (good != 1) print name ": no line SPDX-License-Identifier: BSD-3-Clause among the first two"
		if (all > 1 && name != "tests/checks/licence.sh") print name ": more than one licence"
		good = all = 0
	}
	FNR == 1 { close_file(); name = FILENAME }
	FNR <= 2 && /SPDX-License-Identifier: BSD-3-Clause( \*\/| -->)?$/ { good++ }
	/SPDX-License-Identifier: [A-Z]/ { all++ }
	END { close_file() }' <"$list" >"$list.wrong"
[ ! -s "$list.wrong" ] || wrong "$(cat "$list.wrong")"
[ $failed = 0 ] || echo "tests/checks/licence.sh --fix adds it" >&2
[ "$count" -ge 900 ] || wrong "only $count source files were found"
exit $failed
