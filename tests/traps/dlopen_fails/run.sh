# SPDX-License-Identifier: BSD-3-Clause
# Trap: a module is mapped, and unmapped again because a function that it needs is missing: a handler that has found it
# meanwhile reads there.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
# It has much to relocate, so that it is there for most of the time.
cat >"$work/module.c" <<'END'
int missing(int);
int needs(int x) { return missing(x); }
__asm__(".data\ntable: .rept 20000\n.quad table\n.endr");
END
$CC -fPIC -shared -o "$work/module.so" "$work/module.c" || skip "no compiler"
ends_well bare bare ./tests/traps/dlopen_fails/host "$work/module.so" 0.1
# The process is young when the list of modules is first looked at anew.
for round in 1 2 3 4; do
	CPUPROFILE_FREQUENCY=10000 profiles_well profiled "round-$round" ./tests/traps/dlopen_fails/host "$work/module.so" 2
done
finish
