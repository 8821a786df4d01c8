# SPDX-License-Identifier: BSD-3-Clause
# The static analyzers: "make lint", in a build directory. cppcheck takes seconds, clang-tidy (.clang-tidy
# says what it is asked) minutes; each finding is an error. LINT="lib/symbols/elf.c ..." looks at these only.
set -u
: "${srcdir:?is the source directory}"
builddir=$PWD
cd "$srcdir" || exit 2
files=${LINT:-$(find lib preload tools -name "*.c" | sort)}
jobs=$(nproc 2>/dev/null || echo 2)
status=0

find_tool() { # name
	command -v "$1-14" || command -v "$1" || {
		echo "lint: $1 is missing (Debian: $1)" >&2
		return 1
	}
}

flags="-std=gnu11 -D_GNU_SOURCE -DHAVE_CONFIG_H -DCP_LIBDIR=\"/usr/lib\" -DCP_BINDIR=\"/usr/bin\" -I$builddir
	-I$builddir/tools -iquote lib -iquote tools -iquote tests/lib -Iinclude"

if cppcheck=$(find_tool cppcheck); then
	echo "lint: cppcheck"
	"$cppcheck" -q -j "$jobs" --error-exitcode=1 --std=c11 --enable=warning,performance,portability --inline-suppr \
		--suppressions-list=tests/lint-cppcheck.txt -D_GNU_SOURCE -D__x86_64__ -Iinclude -Ilib -Itools \
		"-I$builddir" $files || status=1
else
	status=2
fi
if tidy=$(find_tool clang-tidy); then
	echo "lint: clang-tidy, $(echo "$files" | wc -w) files"
	printf '%s\n' $files | FLAGS=$flags xargs -P "$jobs" -n 1 sh -c '
		found=$("$0" -quiet "$1" -- $FLAGS 2>/dev/null) || {
			printf "%s\n" "$found"
			exit 1
		}' "$tidy" || status=1
else
	status=2
fi
[ $status = 0 ] && echo "lint: nothing found"
exit $status
