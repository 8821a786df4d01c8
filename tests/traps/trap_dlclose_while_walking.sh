#!/bin/bash
# Trap: dlclose unmaps a module while a handler in another thread reads its unwind data.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/loader.sh"
export CPUPROFILE_FREQUENCY=10000

names='a b c d e'
for m in $names; do plugin "$m"; done
for unwinder in dwarf fp libunwind; do
	export CPROF_UNWIND=$unwinder
	profiled "$unwinder" ./tests/traps/dlclose-storm 300 \
		$(for m in $names; do echo "$work/$m.so"; done)
	check_status "$unwinder" 0
	check_quiet "$unwinder"
	grep -qx done "$work/$unwinder.out" || fail "$unwinder: did not finish"
	check_valid "$work/$unwinder.pb"
	for m in a b c d; do check_stack "$work/$unwinder.pb" "hot_$m;"; done
done
for m in a b c d; do check_stack "$work/dwarf.pb" "hot_$m;work;(visit;)?work;.*start_thread"; done
finish
