# SPDX-License-Identifier: BSD-3-Clause
# Trap: the program has an allocator of its own inside: nothing reaches us. That is said at the end, and
# the program runs as ever; one that passes everything on is seen.
. "$srcdir/tests/lib/heap.sh"

cat >"$work/inside.c" <<'END'
#include <stddef.h>
#include <stdio.h>
#include <string.h>
static char arena[1 << 20] __attribute__((aligned(16)));
static size_t used;
void *malloc(size_t n)
{
	size_t *p = (size_t *)(arena + used);
	used += (n + 31) & ~(size_t)15;
	if (used > sizeof(arena)) return NULL;
	*p = n;
	return p + 2;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n)
{
	void *q = malloc(n);
	if (p && q) memcpy(q, p, n < ((size_t *)p)[-2] ? n : ((size_t *)p)[-2]);
	return q;
}
int main(void) { char *p = strdup("inside"); puts(p); free(p); return 5; }
END
$CC -O1 -fno-builtin -rdynamic -o "$work/inside" "$work/inside.c" || skip "no compiler"
heap_profiled inside "$work/inside"
check_status inside 5
[ "$(cat "$work/inside.out")" = inside ] || harm "other output"
[ "$(grep -c '^libcprof: allocations of this program can.t be seen: .*inside' "$work/inside.err")" = 1 ] ||
	fail "not said: $(cat "$work/inside.err")"
check_heap "$work/inside.pb"
check_comment "$work/inside.pb" 'note: allocations of this program can.t be seen: .*inside'

CPROF_HEAP_INTERVAL=1 runs_well heap_profiled next ./tests/traps/hosts/own-malloc
check_heap "$work/next.pb"
check_stack "$work/next.pb" 'allocate;'
finish
