# SPDX-License-Identifier: BSD-3-Clause
# Trap: a module whose linker made no table of its call frame information has a table of ours, in a list that every
# dlclose makes anew; a walk that goes on meanwhile still reads the earlier list.
. "$srcdir/tests/lib/loader.sh"
limit=$bounded

cat >"$work/deep.c" <<'END'
volatile unsigned long sink;
void dig(unsigned n, void (*f)(void));
void dig(unsigned n, void (*f)(void))
{
	if (n)
		dig(n - 1, f);
	else
		f();
	sink++;
}
END
cat >"$work/main.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define THREADS 6
void dig(unsigned n, void (*f)(void));
static int stop;
static size_t size;
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static void allocate(void)
{
	void *volatile p = malloc(size);
	free(p);
}
static void *work(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		dig(40, allocate);
	return arg;
}
int main(int argc, char **argv)
{
	double end = now() + atof(argv[2]);
	pthread_t t[THREADS];
	void *lib;
	size = (size_t)atol(argv[3]);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, work, NULL))
			return 3;
	do {
		lib = dlopen(argv[1], RTLD_NOW);
		if (!lib)
			return 4;
		dlclose(lib);
	} while (now() < end);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	puts("done");
	return argc != 4;
}
END
flags="-O2 -fomit-frame-pointer -fPIC"
$CC $flags -shared -Wl,--no-eh-frame-hdr -o "$work/libdeep.so" "$work/deep.c" &&
	$CC $flags "$work/main.c" "$work/libdeep.so" -o "$work/main" -Wl,-rpath,"$work" -ldl -pthread ||
	skip "the linker does not take --no-eh-frame-hdr"
"$READELF" -lW "$work/libdeep.so" | grep -q GNU_EH_FRAME && skip "the linker writes a table nevertheless"
plugin gone

# Each allocation is a sample, and walked while the modules go; and one in so many is, mostly by rules that are known.
for interval in 1 512K; do
	export CPROF_HEAP_INTERVAL=$interval HEAPPROFILE="$work/heap-$interval.pb"
	profiled "tables-$interval" "$work/main" "$work/gone.so" 2 $([ $interval = 1 ] && echo 100 || echo 400000)
	check_ended "tables-$interval" 0
	grep -qx done "$work/tables-$interval.out" || harm "tables-$interval: did not finish"
	check_valid_as heap "$work/heap-$interval.pb"
	check_stack "$work/heap-$interval.pb" 'allocate;(dig;)+work;'
done
finish
