# SPDX-License-Identifier: BSD-3-Clause
# Trap: the lock is in a module that is gone when the profile is written: it keeps its name.
. "$srcdir/tests/lib/lock.sh"
$CC -O2 -fPIC -shared -I"$srcdir/tests/lib" -o "$work/plugin.so" "$srcdir/tests/traps/lock_in_closed_module/lock-plugin.c" -lpthread || skip "no compiler"
runs_well lock_profiled on ./tests/traps/lock_in_closed_module/lock-plugin-host "$work/plugin.so"
for file in "$work/on.pb" "$work/on.holders.pb"; do
	check_valid_as lock "$file"
	[ "$(lock_ns "$file" 'wait_in_plugin|hold_in_plugin;' '^plugin_lock$')" -gt 0 ] ||
		fail "$file: no wait for plugin_lock: $("$pprof_check" --raw "$file")"
done
finish
