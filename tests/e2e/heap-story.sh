# SPDX-License-Identifier: BSD-3-Clause
# "The heap says 125 MB, the process has 875": docs/leaks.md's program and commands, with the allocator's own statistics as
# the witness. What is in use, and what is free with the allocator, is what glibc says.
. "$srcdir/tests/lib/heap.sh"
need python3
[ -x "$builddir/cprof" ] || skip "built without the tool"

# A fifth of the page's cache.
sed -n '/^```python/,/^```/{/^```/d;p}' "$srcdir/docs/leaks.md" | sed 's/420_000/84_000/' >"$work/cache.py"
grep -q malloc_stats "$work/cache.py" || fail "docs/leaks.md has no such program"
python3 "$work/cache.py" </dev/null >/dev/null 2>"$work/bare.err"
grep -q 'system bytes' "$work/bare.err" || skip "python3 doesn't use glibc's malloc: $(head -n 1 "$work/bare.err")"
mkfifo "$work/input"
watch_one_page_in 32
(exec env LD_PRELOAD="$CP_LIBRARY" HEAPPROFILE="$work/cache.pb" CPROF_HEAP_INTERVAL=16K CPROF_HEAP_VIEWS=fragmentation \
	python3 "$work/cache.py" <"$work/input" >"$work/cache.out" 2>"$work/cache.err") &
server=$!
owns $server
exec 9>"$work/input"
has_stats() {
	grep -q 'max mmap bytes' "$work/cache.err"
}
wait_for 60 has_stats || fail "no statistics: $(cat "$work/cache.err")"
file=$work/cache.now.pb
"$builddir/cprof" dump -o "$file" $server >"$work/dumped" 2>&1 || fail "cprof dump: $(cat "$work/dumped")"
exec 9>&-
reap $server
check_ended cache 0

# Sums over the arenas are the last ones of their kind.
stat() {
	awk -v what="$1" 'index($0, what " bytes") == 1 { n = $NF } END { print int(n / 1024) }' "$work/cache.err"
}
row() { # name: kB of the table
	"$pprof_check" --comments "$file" | sed -n "s/.*resident memory:.*[:,;] $1: \([0-9]*\) kB.*/\1/p"
}
used=$(row 'heap in use') rounded=$(row 'its sizes rounded up') held=$(row 'free on its pages') free=$(row 'heap not in use')
[ -n "$used" ] && [ -n "$rounded" ] && [ -n "$held" ] && [ -n "$free" ] || fail "no table: $("$pprof_check" --comments "$file")"
near() { # what ours theirs percent
	[ $((100 * ($2 - $3))) -lt $(($4 * $3)) ] && [ $((100 * ($3 - $2))) -lt $(($4 * $3)) ] || fail "$1: $2 kB, and glibc says $3 kB: $(cat "$work/cache.err")"
}
# Of the 25 MB in use, 20 MB are blocks of 2 kB, a sample of 1,250 of them: five standard errors are 14 %. glibc counts its
# headers, and freed blocks in its threads' caches, as in use.
near "in use" $((used + rounded)) "$(stat 'in use')" 16
near "from the system" $((used + rounded + held + free)) "$(stat system)" 6
# The blocks that are kept lie apart, each on a page or two.
[ $((held * 10)) -gt $((used * 8)) ] && [ "$held" -lt $((free + held)) ] || fail "free on its pages: $held kB beside $used kB in use"
"$builddir/cprof" top -nodecount=3 "$work/cache.now.fragmentation.pb" >"$work/top" 2>&1
# Calloc, where python3 has its own symbols.
grep -q ' held_space' "$work/top" && grep -qE 'Calloc|python[0-9.]*\+0x' "$work/top" || fail "cprof top: $(cat "$work/top")"
finish
