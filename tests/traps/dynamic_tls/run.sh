# SPDX-License-Identifier: BSD-3-Clause
# Trap: thread-local storage that is allocated at its first use, by malloc (__tls_get_addr): within malloc, or in a
# handler that interrupted it. All of the profiler's TLS is initial-exec, and a handler in a thread that existed
# before the library allocates nothing.
. "$srcdir/tests/lib/e2e.sh"

elf() { ${READELF:-readelf} -W "$@"; }
[ -n "$(elf -l "$CP_LIBRARY" | awk '$1 == "TLS"')" ] || fail "no TLS at all"
elf -r "$CP_LIBRARY" | grep 'DTPMOD\|DTPOFF\|TLSDESC' && fail "relocations of dynamic TLS"
${NM:-nm} -D -u "$CP_LIBRARY" | grep '__tls_get_addr' && fail "__tls_get_addr is called"

cat >"$work/late.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "cprof.h"
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
static __thread volatile int quiet; /* this thread allocates nothing itself */
static int allocated, stop, ready;
static void seen(void)
{
	if (quiet)
		__atomic_add_fetch(&allocated, 1, __ATOMIC_RELAXED);
}
void *malloc(size_t n) { seen(); return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { seen(); return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { seen(); return __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { seen(); return __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { seen(); return __libc_memalign(a, n); }
__attribute__((noinline)) static void quiet_loop(void)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		;
}
static void *run(void *arg)
{
	quiet = 1;
	__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
	quiet_loop();
	quiet = 0;
	return arg;
}
int main(int argc, char **argv)
{
	struct cprof_options options = CPROF_OPTIONS_INIT;
	struct cprof_stats stats = { .size = sizeof(stats) };
	pthread_t t[2];
	void *library;
	int (*start)(const struct cprof_options *), (*end)(void), (*get)(struct cprof_stats *);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, run, NULL);
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < 2)
		;
	library = dlopen(argv[1], RTLD_NOW);
	if (!library)
		return 2;
	*(void **)&start = dlsym(library, "cprof_start");
	*(void **)&end = dlsym(library, "cprof_stop");
	*(void **)&get = dlsym(library, "cprof_get_stats");
	options.cpu_path = argv[2];
	options.frequency = 1000;
	if (start(&options))
		return 3;
	/* This thread sleeps, so nearly all are of the two that a sweep has to find first. */
	do {
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
		get(&stats);
	} while (stats.samples < 8);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	if (end())
		return 4;
	printf("%d\n", allocated);
	return 0;
}
END
$CC -O1 -g -w -fno-builtin -rdynamic -I"$srcdir/include" -o "$work/late" "$work/late.c" -ldl -pthread || fail "late: not built"
limit=$bounded
profiles_well bare late "$work/late" "$CP_LIBRARY" "$work/late.pb"
check_stack "$work/late.pb" 'quiet_loop;run;.*start_thread'
[ "$(cat "$work/late.out")" = 0 ] || fail "$(cat "$work/late.out") allocations in handlers"
finish
