# SPDX-License-Identifier: BSD-3-Clause
# Trap: a wrapped dlopen searches with the profiler as its caller: the RUNPATH and $ORIGIN of the
# module that called are lost, and dlopen("libinner.so") fails.
. "$srcdir/tests/lib/loader.sh"

mkdir -p "$work/lib/private"
plugin inner
mv "$work/inner.so" "$work/lib/private/libinner.so"
cat >"$work/outer.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
void work(long ms);
void work(long ms)
{
	void *inner = dlopen("libinner.so", RTLD_NOW);

	if (!inner) {
		puts(dlerror());
		return;
	}
	((void (*)(long))dlsym(inner, "work"))(ms);
	dlclose(inner);
	puts("found");
}
C
# RUNPATH counts for the module's own searches only, so the caller decides.
$CC -O2 -fPIC -shared -Wl,--enable-new-dtags -Wl,-rpath,'$ORIGIN/private' \
	-o "$work/lib/outer.so" "$work/outer.c" -ldl
bare plain "$host" open "$work/lib/outer.so" work 100
runs_well profiled wrapped "$host" open "$work/lib/outer.so" work 100
grep -qx found "$work/wrapped.out" || harm "$(cat "$work/wrapped.out")"
check_same_output wrapped plain
check_valid "$work/wrapped.pb"
check_stack "$work/wrapped.pb" 'hot_inner;work;work;.*main;'
finish
