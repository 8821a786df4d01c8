#!/bin/bash
# Trap: a handler of the program jumps out of a sample. The next dlclose waits for walks in flight, but not
# for those that nobody will end. The allocator is one that has no lock to be left behind.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/heap.sh"

cat >"$work/lockless.c" <<'END2'
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
static char arena[32 << 20] __attribute__((aligned(16)));
static size_t used;
static char same[112] __attribute__((aligned(16)));
void *malloc(size_t n)
{
	size_t *p;
	if (n == 100)
		return same;
	p = (size_t *)(arena + __atomic_fetch_add(&used, (n + 31) & ~(size_t)15, __ATOMIC_RELAXED));
	if (used > sizeof(arena))
		abort();
	*p = n;
	return p + 2;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n)
{
	void *q = malloc(n);
	if (p) memcpy(q, p, n < ((size_t *)p)[-2] ? n : ((size_t *)p)[-2]);
	return q;
}
END2
$CC -O1 -w -fno-builtin -shared -fPIC -o "$work/lockless.so" "$work/lockless.c" || skip "no compiler"
ALLOCATOR=$work/lockless.so
for unwinder in dwarf fp libunwind; do
	CPROF_HEAP_INTERVAL=1 CPROF_UNWIND=$unwinder heap_profiled jumps timeout 30 ./tests/traps/heap-jumps
	check_status jumps 0
	[ "$(cat "$work/jumps.out")" = unloaded ] || fail "$unwinder: other output"
	check_heap "$work/jumps.pb"
done
finish
