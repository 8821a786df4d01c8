#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Trap: if operator new and delete do the same as malloc and free, a profiler may bypass the C++ library; but a
# program may have replaced some of the operators, or malloc, or rely on a handler when memory runs out. And the
# operator's frame belongs to the program.
. "$srcdir/tests/lib/heap.sh"

[ -n "${CXX:-}" ] || skip "no C++ compiler"
cat >"$work/host.cc" <<'END_OF_HOST'
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#ifdef REPLACED
static unsigned long deleted;
void operator delete(void *p) noexcept
{
	deleted++;
	free(p);
}
#endif
static int asked;
static void on_no_memory()
{
	asked++;
	std::set_new_handler(nullptr);
}
__attribute__((noinline)) static void make_some()
{
	for (int i = 0; i < 1000; i++) {
		::operator delete(::operator new(777));
		::operator delete(::operator new(777), (std::size_t)777);
		::operator delete[](::operator new[](777));
		::operator delete[](::operator new[](777), (std::size_t)777);
	}
}
__attribute__((noinline)) static void no_memory()
{
	std::set_new_handler(on_no_memory);
	try {
		::operator delete(::operator new((std::size_t)1 << 62));
	} catch (const std::bad_alloc &) {
		printf("no memory, asked %d times\n", asked);
	}
}
__attribute__((noinline)) static void spin()
{
	for (clock_t began = clock(); clock() - began < CLOCKS_PER_SEC / 2;)
		make_some();
}
int main(int argc, char **)
{
	void *none = ::operator new(0), *other = ::operator new(0);

	if (argc > 1)
		spin();
	make_some();
	no_memory();
	printf("nothing is %s\n", none && none != other ? "something" : "shared");
	::operator delete(none);
	::operator delete(other);
#ifdef REPLACED
	printf("%lu deleted\n", deleted);
#endif
}
END_OF_HOST
cat >"$work/shim.c" <<'END_OF_SHIM'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static unsigned long seen;
void *malloc(size_t n)
{
	static void *(*real)(size_t);

	if (!real)
		real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	seen += n == 777;
	return real(n);
}
__attribute__((destructor)) static void tell(void)
{
	printf("%lu seen\n", seen);
}
END_OF_SHIM
$CXX -O1 -w -fsized-deallocation -o "$work/plain" "$work/host.cc" || skip "no C++ library"
$CXX -O1 -w -fsized-deallocation -DREPLACED -o "$work/replaced" "$work/host.cc" || skip "no C++ library"
$CC -O1 -w -shared -fPIC -o "$work/shim.so" "$work/shim.c" -ldl

check_same() { # name program
	check_ended "$1" 0 "$2"
	check_heap "$work/$1.pb"
}
bare plain "$work/plain"
bare replaced "$work/replaced"
bare shimmed env LD_PRELOAD="$work/shim.so" "$work/plain"
grep -q '^no memory, asked 1 times' "$work/plain.out" || harm "the handler was not asked"
grep -q '^4002 deleted' "$work/replaced.out" || harm "the program's own delete is not called"
grep -q '^4000 seen' "$work/shimmed.out" || harm "the malloc in front is not called"
for interval in 1 64K; do
	export CPROF_HEAP_INTERVAL=$interval
	heap_profiled "plain-$interval" "$work/plain"
	check_same "plain-$interval" plain
	check_stack "$work/plain-$interval.pb" 'operator new;make_some;main;'
	heap_profiled "replaced-$interval" "$work/replaced"
	check_same "replaced-$interval" replaced
	bare "shimmed-$interval" env LD_PRELOAD="$work/shim.so $CP_LIBRARY" HEAPPROFILE="$work/shimmed-$interval.pb" "$work/plain"
	check_status "shimmed-$interval" 0
	check_same_output "shimmed-$interval" shimmed
done
CPUPROFILE_FREQUENCY=999 CPROF_CPU_ENGINE=perf ends_well profiled spin "$work/plain" spin
check_same_output spin plain # no heap mode asks for a sample of what is too large
check_stack "$work/spin.pb" '(malloc|libc\.so\+0x[^;]*);operator new;make_some;spin;main;'
check_no_stack "$work/spin.pb" libcprof
finish
