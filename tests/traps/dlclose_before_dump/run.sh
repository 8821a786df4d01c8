# SPDX-License-Identifier: BSD-3-Clause
# Trap: a module that was unloaded before the dump is "<unknown>".
. "$srcdir/tests/lib/loader.sh"

plugin a
profiles_well profiled gone "$host" open "$work/a.so" work 200 close burn 50
check_top "$work/gone.pb" 2 hot_a
check_stack "$work/gone.pb" 'hot_a;work;.*main;'
has_go && check_mapping "$work/gone.pb" "$work/a.so" "$(build_id "$work/a.so")"

# Many that come and go, each with samples, also beside load, where the tick comes late: none is lost or taken for another.
for i in 1 2 3 4 5 6 7 8; do plugin "m$i"; done
CPROF_CPU_ENGINE=perf profiled many "$host" $(for i in 1 2 3 4 5 6 7 8; do echo open "$work/m$i.so" work 60 close; done)
check_status many 0
check_valid "$work/many.pb"
for i in 1 2 3 4 5 6 7 8; do
	check_stack "$work/many.pb" "hot_m$i;work;.*main;"
	has_go && check_mapping "$work/many.pb" "$work/m$i.so" "$(build_id "$work/m$i.so")"
done
finish
