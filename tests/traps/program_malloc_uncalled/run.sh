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

# dlopen of a library that the program has from the start allocates, too.
bare linked-plain env -u DUMPS LD_PRELOAD=libz.so.1 $life
rm -f "$work/linked.pb"
bare linked env LD_PRELOAD="$CP_LIBRARY libz.so.1" CPUPROFILE="$work/linked.pb" $life
check_same_output linked linked-plain
check_valid "$work/linked.pb"

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
	check_ended counted 0 counted-plain
	gzip -t "$work/counted.pb" || fail "counted: the profile is not compressed"
done
# libc has room for 32 handlers of exit and allocates for the next, which may be the profiler's.
cat >"$work/exits.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
static void nothing(void) {}
static void *thread(void *arg) { return arg; }
int main(int argc, char **argv)
{
	pthread_t t;
	for (int i = 0; i < atoi(argv[argc - 1]); i++)
		atexit(nothing);
	return pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL);
}
END
$CC -O1 -w -o "$work/exits" "$work/exits.c" -lpthread || fail "exits: not built"
for n in {28..32}; do
	bare "exits-plain" env LD_PRELOAD="$work/count.so" "$work/exits" $n
	bare "exits" env LD_PRELOAD="$CP_LIBRARY $work/count.so" CPUPROFILE="$work/exits.pb" "$work/exits" $n
	check_same_output exits exits-plain
done
# An allocator with operators of its own: a sample calls no other function of the allocator, nor one more often.
cat >"$work/operators.cc" <<'END'
#include <new>
int main()
{
	operator delete(operator new(500, std::align_val_t(64)), std::align_val_t(64));
	for (int i = 0; i < 40000; i++)
		operator delete(operator new(500));
}
END
cat >"$work/own.c" <<'END'
#include "count.c"
void *__libc_memalign(size_t alignment, size_t size);
int posix_memalign(void **to, size_t alignment, size_t size) { calls++; return !(*to = __libc_memalign(alignment, size)) * 12; }
void *_Znwm(size_t size) { calls++; return __libc_malloc(size); }
void *_ZnwmSt11align_val_t(size_t size, size_t alignment) { calls++; return __libc_memalign(alignment, size); }
void _ZdlPv(void *p) { calls++; __libc_free(p); }
void _ZdlPvSt11align_val_t(void *p, size_t a) { calls++; __libc_free(p); }
END
$CC -O1 -fno-builtin -w -shared -fPIC -o "$work/own.so" "$work/own.c" && $CXX -std=c++17 -O0 -w -o "$work/operators" "$work/operators.cc" ||
	fail "operators: not built"
bare operators-plain env LD_PRELOAD="$work/own.so" "$work/operators"
bare operators env LD_PRELOAD="$CP_LIBRARY $work/own.so" CPROF_HEAP_INTERVAL=64K HEAPPROFILE="$work/operators.pb" "$work/operators"
check_same_output operators operators-plain
check_valid_as heap "$work/operators.pb"
"$pprof_check" --raw "$work/operators.pb" | grep -q main || fail "operators: no sample"
finish
