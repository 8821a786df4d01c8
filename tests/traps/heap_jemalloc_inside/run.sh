# SPDX-License-Identifier: BSD-3-Clause
# Trap: jemalloc is linked into the program, so that nothing of its malloc reaches us. It is found, and seen
# through its hooks; a comment says so. (Whether all of it is right: tests/e2e/heap-jemalloc-static.sh.)
. "$srcdir/tests/lib/heap.sh"
limit=$bounded

archive=${JEMALLOC_LIBRARY:-$($CC -print-file-name=libjemalloc.a)}
[ -f "$archive" ] || skip "there is no libjemalloc.a"
$CC -O1 -g -fno-builtin -o "$work/inside" "$srcdir/tests/e2e/heap-sites.c" "$archive" -lstdc++ -lm -ldl \
	-lpthread >"$work/cc.log" 2>&1 || skip "nothing links with $archive: $(tail -n 1 "$work/cc.log")"
CPROF_HEAP_INTERVAL=1 ends_well heap_profiled inside "$work/inside" exact
grep -q 'hooks of jemalloc .* are not known\|takes no hooks\|tells of its own' "$work/inside.err" &&
	skip "of this jemalloc: $(cat "$work/inside.err")"
check_comment "$work/inside.pb" 'through its hooks jemalloc'
check_quiet inside
check_heap "$work/inside.pb"
sites_are_as_said inside
finish
