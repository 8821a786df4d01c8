# SPDX-License-Identifier: BSD-3-Clause
# Trap: samples in a module's destructor, taken while the module is unloaded, are "<unknown>", because the module was
# not seen before; or they are given to another module that was at the same address meanwhile.
. "$srcdir/tests/lib/loader.sh"
. "$srcdir/tests/lib/heap.sh"

# Nothing is sampled before its destructor.
plugin a -DPARTING=parting_a
profiles_well profiled only "$host" open "$work/a.so" close
check_stack "$work/only.pb" 'hot_a;parting_a;part;.*main;'
check_no_stack "$work/only.pb" '\[unknown\]'

cat >"$work/plugin.c" <<'END_OF_PLUGIN'
#include <stdlib.h>
static void *volatile kept;
__attribute__((noinline)) void NAME(int n)
{
	while (n--) {
		free(kept);
		kept = malloc(100);
	}
}
__attribute__((destructor)) static void part(void)
{
	NAME(10);
	kept = malloc(1000);
}
END_OF_PLUGIN
# The same code; the loader puts a module where its file says, if nobody is there.
for name in first second; do
	$CC -O1 -fno-builtin -fno-optimize-sibling-calls -shared -fPIC -Wl,-Ttext-segment=0x200000000000 -DNAME=in_$name \
		-Dpart=parting_$name -o "$work/$name.so" "$work/plugin.c" || exit 1
done
cat >"$work/host.c" <<'END_OF_HOST'
#include <dlfcn.h>
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *h = dlopen(argv[i], RTLD_NOW);
		if (!h)
			return 1;
		dlclose(h);
	}
	return 0;
}
END_OF_HOST
$CC -O1 -o "$work/host" "$work/host.c" -ldl || exit 1

export CPROF_HEAP_INTERVAL=1
runs_well heap_profiled heap "$work/host" "$work/first.so" "$work/second.so" "$work/first.so" "$work/first.so"
check_heap "$work/heap.pb"

values_are "$work/heap.pb" '(^|;)in_first;parting_first;' "30 3000 3 300"
values_are "$work/heap.pb" '(^|;)parting_first;' "33 6000 6 3300"
values_are "$work/heap.pb" '(^|;)in_second;parting_second;' "10 1000 1 100"
values_are "$work/heap.pb" '(^|;)parting_second;' "11 2000 2 1100"
finish
