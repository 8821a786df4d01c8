# SPDX-License-Identifier: BSD-3-Clause
# CPROF_HEAP_VIEWS=mmap: the memory that the program maps by itself, in its own file, which stays right when it is
# unmapped in pieces, mapped over, moved, or changed by the break.
. "$srcdir/tests/lib/heap.sh"
export CPROF_HEAP_VIEWS=mmap

ends_well bare plain ./tests/e2e/heap-mappings-host
runs_well heap_profiled maps ./tests/e2e/heap-mappings-host
check_heap "$work/maps.pb"
"$pprof_check" --mode mmap "$work/maps.mmap.pb" >"$work/check.log" 2>&1 || fail "$(head -n 5 "$work/check.log")"

K=$(($(getconf PAGESIZE) / 4)) # as the host
left() { # site calls mapped-K in-use in-use-K
	got=$(heap_values "$work/maps.mmap.pb" "(^|;)$1[.;]")
	[ "$got" = "$2 $(($3 * K)) $4 $(($5 * K))" ] || fail "$1: $got, not $2 calls, $3 K, $4 in use, $5 K"
}
left site_kept 1 100 1 100
left site_holes 1 400 1 352
left site_covered 1 80 1 60
left site_over 2 32 1 20
left site_gone 3 128 0 0
left site_moved 2 4008 1 8
left site_break 1 100 1 60
left site_churned 6000 72000 0 0
left site_parents 1 1000 1 1000
check_comment "$work/maps.mmap.pb" '^mappings by the program: .* 0 could not be kept'
# The child's own: one mapping, and none from its parent.
child=$(ls "$work"/maps.mmap.pb.* 2>/dev/null | head -n 1)
[ -n "$child" ] && [ "$(heap_values "$child" .)" = "1 $((28 * K)) 1 $((28 * K))" ] || fail "child: ${child:-no file}: $(heap_values "$child" .)"

# Real ones: a database and an allocator that map by themselves; the output is the same.
if command -v sqlite3 >/dev/null; then
	for allocator in $(allocators); do
		use_allocator "$allocator"
		heap_profiled sqlite sqlite3 "$work/$allocator.db" 'pragma mmap_size=100000000; create table t(a);
			insert into t values (randomblob(1000000)); select length(a) from t;'
		check_ended sqlite 0
		[ "$(tail -n 1 "$work/sqlite.out")" = 1000000 ] || fail "$allocator: sqlite says $(cat "$work/sqlite.out")"
		"$pprof_check" --mode mmap "$work/sqlite.mmap.pb" >"$work/check.log" 2>&1 ||
			fail "$allocator: $(head -n 5 "$work/check.log")"
	done
fi

# Off: no file.
CPROF_HEAP_VIEWS=none ends_well heap_profiled off ./tests/e2e/heap-mappings-host
[ ! -e "$work/off.mmap.pb" ] || fail "a file of mappings that nobody asked for"
finish
