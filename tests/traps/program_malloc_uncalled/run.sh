#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Trap: the profiler calls the program's own malloc, which may not be ready before main (GCL's: maxima and acl2 die
# by SIGSEGV), or may have a lock that the calling thread holds. dlsym and dlopen do it, libc for each thread, and for
# handlers of exit and fork. Nothing in a program's life may change the number of calls.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
export CPUPROFILE_FREQUENCY=1000
host=./tests/traps/program_malloc_uncalled/host
life="$host keys exits forks thread signal dump child exec"

bare plain $life
grep -q '^end: [1-9]' "$work/plain.out" || fail "the allocator is not counted: $(cat "$work/plain.out")"
export DUMPS=1
for mode in cpu wall lock io heap; do
	rm -f "$work/$mode".*
	profiled_by "${mode^^}PROFILE" "$mode" $life
	check_status "$mode" 0
	check_same_output "$mode" plain
	check_valid_as "$mode" "$work/$mode.pb"
done
grep -q "^libcprof: allocations of this program can't be seen: malloc is .*host's, which comes before libcprof's" \
	"$work/heap.err" || fail "heap doesn't say that malloc isn't seen: $(cat "$work/heap.err")"
# A start when libc's own room for keys and handlers is used up.
bare late-plain $host keys exits forks start thread child
bare late env LD_PRELOAD="$CP_LIBRARY" START="$work/late.%n.pb" $host keys exits forks start thread child
check_same_output late late-plain

# An allocator that comes after the profiler's functions: the loader gets memory of the profiler's to open zlib.
cat >"$work/count.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);
static int calls;
void *malloc(size_t size) { calls++; return __libc_malloc(size); }
void *calloc(size_t n, size_t each) { calls++; return __libc_calloc(n, each); }
void *realloc(void *p, size_t size) { calls++; return __libc_realloc(p, size); }
void free(void *p) { calls += p != NULL; __libc_free(p); }
__attribute__((destructor)) static void tell(void)
{
	char text[40];
	int n = snprintf(text, sizeof(text), "%d calls\n", calls);
	if (write(1, text, n) != n)
		abort();
}
END
$CC -O1 -fno-builtin -w -shared -fPIC -o "$work/count.so" "$work/count.c" || fail "count.so: not built"
for unwind in auto libunwind; do
	bare counted-plain env LD_PRELOAD="$work/count.so" ./tests/traps/hosts/loader-host burn 20
	bare counted env LD_PRELOAD="$CP_LIBRARY $work/count.so" CPROF_UNWIND=$unwind CPUPROFILE="$work/counted.pb" \
		./tests/traps/hosts/loader-host burn 20
	check_status counted 0
	check_quiet counted
	check_same_output counted counted-plain
	gzip -t "$work/counted.pb" || fail "counted: the profile is not compressed"
done
finish
