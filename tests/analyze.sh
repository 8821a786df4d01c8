# SPDX-License-Identifier: BSD-3-Clause
# gcc's static analyzer over the library, the interposed functions and the tool: "make analyze", in a build directory;
# a few minutes. Every warning is either mended, or listed in tests/analyzed.txt with the reason why it is false. A
# warning that is not listed fails, and so does a listed one that no longer appears. The list is for gcc 12: other
# versions give other warnings.
set -u
: "${srcdir:?is the source directory}"
builddir=$PWD
version=12
gcc=$(command -v gcc-$version) || { echo "analyze: gcc-$version is not installed"; exit 77; }
cd "$srcdir" || exit 2
files=${ANALYZE:-$(find lib preload tools -name "*.c" | sort)}
flags="-std=gnu11 -O2 -fPIC -D_GNU_SOURCE -DHAVE_CONFIG_H -DCP_LIBDIR=\"/usr/lib\" -DCP_BINDIR=\"/usr/bin\" -I$builddir
	-I$builddir/tools -iquote lib -iquote tools -Iinclude"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C
printf '%s\n' $files | FLAGS=$flags xargs -P "$(nproc 2>/dev/null || echo 2)" -n 1 sh -c '
	"$0" $FLAGS -fanalyzer -fanalyzer-verbosity=0 -fdiagnostics-plain-output -c -o /dev/null "$2" >"$1/$(echo "$2" | tr / _)" 2>&1 ||
		echo "$2: does not compile" >"$1/failed"' "$gcc" "$work"
[ ! -e "$work/failed" ] || { cat "$work/failed"; exit 2; }
cat "$work"/*.c >"$work/all"
# Where, in which function, what.
awk 'FNR == 1 { where = "-" }
	/: In function / { n = split($0, part, "\047"); where = part[n - 1] }
	/ warning: .*\[-Wanalyzer/ { kind = $NF; gsub(/[][]|-Wanalyzer-/, "", kind); split($1, at, ":"); print at[1], where, kind }' \
	"$work"/*.c | sort -u >"$work/found"
grep -v '^#' tests/analyzed.txt | awk 'NF { print $1, $2, $3 }' | sort -u >"$work/known"
status=0
comm -23 "$work/found" "$work/known" >"$work/new"
while read -r file function kind; do
	echo "analyze: $file, $function: $kind"
	grep "^$file:.*-Wanalyzer-$kind" "$work/all" | head -n 3
	status=1
done <"$work/new"
[ -n "${ANALYZE:-}" ] || comm -13 "$work/found" "$work/known" >"$work/gone"
if [ -s "$work/gone" ]; then
	sed 's/^/analyze: not warned of any more: /' "$work/gone"
	status=1
fi
echo "analyze: $(wc -l <"$work/found") warnings, $(wc -l <"$work/new") of them not looked at yet"
exit $status
