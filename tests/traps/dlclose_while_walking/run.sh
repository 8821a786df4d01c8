# SPDX-License-Identifier: BSD-3-Clause
# Trap: dlclose unmaps a module while a handler in another thread reads its unwind data.
. "$srcdir/tests/lib/loader.sh"
export CPUPROFILE_FREQUENCY=10000

names='a b c d e'
for m in $names; do plugin "$m"; done
for unwinder in dwarf fp libunwind; do
	export CPROF_UNWIND=$unwinder
	profiled "$unwinder" ./tests/traps/hosts/dlclose-storm 300 \
		$(for m in $names; do echo "$work/$m.so"; done)
	check_ended "$unwinder" 0
	grep -qx done "$work/$unwinder.out" || harm "$unwinder: did not finish"
	check_valid "$work/$unwinder.pb"
	# By frame pointers a function without a frame has no callers.
	for m in a b c d; do check_stack "$work/$unwinder.pb" "hot_$m(;|\$)"; done
done
for m in a b c d; do check_stack "$work/dwarf.pb" "hot_$m;work;(visit;)?work;.*start_thread"; done

# One read of the module, held back until it goes: the unloading waits for it.
cat >"$work/called.c" <<'END'
void call_back(void (*f)(void));
void call_back(void (*f)(void))
{
	f();
	__asm__ volatile("" ::: "memory");
}
END
$CC -O2 -fPIC -shared -o "$work/called.so" "$work/called.c" || fail "called.so: not built"
CPROF_UNWIND=dwarf CPUPROFILE_FREQUENCY=1000 profiled held ./tests/traps/dlclose_while_walking/host "$work/called.so"
if [ "$status" = 77 ]; then
	echo "SKIP held: $(cat "$work/held.err")"
else
	check_ended held 0
	[ "$(cat "$work/held.out")" = "$(printf 'waited for\ndone')" ] || harm "held: $(cat "$work/held.out")"
	check_valid "$work/held.pb"
fi
finish
