# SPDX-License-Identifier: BSD-3-Clause
# Trap: the constructor of a plugin makes a thread and waits for it, while the loader's lock is held for the
# plugin; the thread is the first of the process to call this operator new. It must not need that lock.
. "$srcdir/tests/lib/heap.sh"

[ -n "${CXX:-}" ] || skip "no C++ compiler"
cat >"$work/plugin.cc" <<'END2'
#include <new>
#include <pthread.h>
struct alignas(256) wide { int x[64]; };
static void *volatile kept;
static void *run(void *)
{
	int *a = new (std::nothrow) int[10];
	kept = a;
	delete[] a;
	wide *b = new wide;
	kept = b;
	delete b;
	return nullptr;
}
static struct pool {
	pool()
	{
		pthread_t t;
		pthread_create(&t, nullptr, run, nullptr);
		pthread_join(t, nullptr);
	}
} pool;
extern "C" int plugin_run() { return 1001; }
END2
cat >"$work/host.c" <<'END2'
#include <dlfcn.h>
int main(int c, char **v)
{
	void *h = c > 1 ? dlopen(v[1], RTLD_NOW) : 0;
	return !h || !dlsym(h, "plugin_run");
}
END2
$CXX -std=c++17 -O1 -w -fno-builtin -shared -fPIC -o "$work/plugin.so" "$work/plugin.cc" -pthread || skip "no C++ library"
$CC -O1 -w -o "$work/c" "$work/host.c" -ldl || skip "no compiler"
$CXX -O1 -w -x c++ -Wl,--no-as-needed -o "$work/cxx" "$work/host.c" -ldl || skip "no C++ library"
for allocator in $(allocators); do
	use_allocator "$allocator"
	for host in c cxx; do
		# Only loaded, then with samples.
		bare idle env LD_PRELOAD="$CP_LIBRARY $ALLOCATOR" timeout 20 "$work/$host" "$work/plugin.so"
		[ "$status" = 0 ] || harm "$allocator, $host, idle: status $status"
		for interval in 1 64K; do
			CPROF_HEAP_INTERVAL=$interval heap_profiled on timeout 20 "$work/$host" "$work/plugin.so"
			[ "$status" = 0 ] || harm "$allocator, $host, interval $interval: status $status"
		done
	done
done
finish
