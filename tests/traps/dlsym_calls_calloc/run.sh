# SPDX-License-Identifier: BSD-3-Clause
# Trap: dlsym calls calloc before the real calloc is known; a program whose allocator asks
# dlsym for the next one recurses, or deadlocks in the loader.
. "$srcdir/tests/lib/e2e.sh"
export CPUPROFILE_FREQUENCY=1000

for unwinder in dwarf fp; do
	CPROF_UNWIND=$unwinder same_as_bare cpu "$unwinder" ./tests/traps/hosts/own-malloc
	check_valid "$work/$unwinder.pb"
	check_top "$work/$unwinder.pb" 2 allocate
done

# Today's dlsym allocates for errors only. This one does it always, as a tracer's or a sanitizer's may. The
# profiler looks its functions up without it.
cat >"$work/dlsym.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static unsigned calls;
static void must(int good, const char *what)
{
	if (good)
		return;
	/* Not _exit, which the profiler has to look up. */
	if (write(2, what, strlen(what)))
		__builtin_trap();
}
void *dlsym(void *handle, const char *name)
{
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5" };
	static void *(*real)(void *, const char *);
	char *p;
	for (unsigned i = 0; !real && i < 3; i++)
		*(void **)&real = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	must(real != NULL, "no dlsym\n");
	calls++;
	p = calloc(3, 10);
	must(p != NULL, "calloc within dlsym\n");
	free(p);
	return real(handle, name);
}
__attribute__((destructor)) static void tell(void)
{
	must(!calls, "dlsym was called\n");
}
END
$CC -O1 -fno-builtin -w -shared -fPIC -o "$work/dlsym.so" "$work/dlsym.c" || fail "dlsym.so: not built"
for mode in none CPUPROFILE HEAPPROFILE LOCKPROFILE; do
	runs_well bare "$mode" env LD_PRELOAD="$CP_LIBRARY $work/dlsym.so" $mode="$work/mode.pb" ./tests/traps/hosts/loader-host burn 20
done
finish
