#!/bin/bash
# Trap: RTLD_NEXT and RTLD_DEFAULT each have cases where they find the wrong function or none:
# LD_AUDIT, dlmopen, RTLD_DEEPBIND, and the profiler itself loaded by the program.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/loader.sh"

plugin a
$CC -O2 -fPIC -shared -D_GNU_SOURCE -o "$work/audit.so" "$traps/audit.c"

check_run() { # name
	check_status "$1" 0
	check_quiet "$1"
	check_valid "$work/$1.pb"
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
		fail "late-$way: $(cat "$work/late-$way.out")"
	check_stack "$work/late-$way.pb" 'burn_loop;.*main;'
done
finish
