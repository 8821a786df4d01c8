# SPDX-License-Identifier: BSD-3-Clause
# Trap: RTLD_NEXT and RTLD_DEFAULT each have cases where they find the wrong function or none:
# LD_AUDIT, dlmopen, RTLD_DEEPBIND, and the profiler itself loaded by the program.
. "$srcdir/tests/lib/loader.sh"

plugin a
$CC -O2 -fPIC -shared -D_GNU_SOURCE -o "$work/audit.so" "$srcdir/tests/traps/loader_namespaces/audit.c"

check_run() { # name
	check_ended_valid "$1" 0
}

# Its libc calls bypass every interposed function.
profiled deep "$host" deep "$work/a.so" work 100 close
check_run deep
check_stack "$work/deep.pb" 'hot_a;work;.*main;'

# Another libc, whose threads nobody announces: the sweep finds them.
profiled namespace "$host" namespace "$work/a.so" work 100 thread 3500
check_run namespace
check_stack "$work/namespace.pb" 'hot_a;work;.*main;'
check_stack "$work/namespace.pb" 'hot_a;work;in_thread;start_thread'

profiled audit env LD_AUDIT="$work/audit.so" "$host" open "$work/a.so" work 100 thread 100 close
check_run audit
check_stack "$work/audit.pb" 'hot_a;work;.*main;'
check_stack "$work/audit.pb" 'hot_a;work;in_thread;start_thread'

# The library loaded late, and started through its API.
for way in open deep namespace; do
	bare "late-$way" "$host" $way "$CP_LIBRARY" start "$work/late-$way.pb" burn 100 stop
	check_run "late-$way"
	[ "$(cat "$work/late-$way.out")" = "$(printf 'start 0\nstop 0')" ] ||
		harm "late-$way: $(cat "$work/late-$way.out")"
	check_stack "$work/late-$way.pb" 'burn_loop;.*main;'
done

# Linked after libc, so that no libc function comes next: RTLD_NEXT finds none.
cat >"$work/behind.c" <<'END'
#include "cprof.h"
#include "host.h"
__attribute__((noinline)) static void *behind_loop(void *arg)
{
	burn_and_tick(0.1);
	__asm__ volatile("" ::: "memory");
	return arg;
}
int main(int argc, char **argv)
{
	struct cprof_options options = CPROF_OPTIONS_INIT;
	pthread_t t;
	options.cpu_path = argv[argc - 1];
	options.frequency = 1000;
	if (cprof_start(&options))
		return 1;
	behind_loop(NULL);
	pthread_create(&t, NULL, behind_loop, NULL);
	pthread_join(t, NULL);
	dlclose(dlopen("libm.so.6", RTLD_NOW));
	return cprof_stop() ? 2 : 0;
}
END
$CC -O2 -g -w -D_GNU_SOURCE -I"$srcdir/include" -I"$srcdir/tests/lib" -Wl,--no-as-needed -o "$work/behind" "$work/behind.c" -lc "$CP_LIBRARY" \
	-Wl,-rpath,"${CP_LIBRARY%/*}" || fail "behind: not built"
[ "$(${READELF:-readelf} -dW "$work/behind" | grep -c 'NEEDED.*libc\.so\|NEEDED.*libcprof')" = 2 ] &&
	${READELF:-readelf} -dW "$work/behind" | grep NEEDED | grep -A9 'libc\.so' | grep -q libcprof ||
	fail "behind: libcprof is not behind libc"
bare behind "$work/behind" "$work/behind.pb"
check_run behind
check_stack "$work/behind.pb" 'behind_loop;.*main;'
finish
