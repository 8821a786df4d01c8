# SPDX-License-Identifier: BSD-3-Clause
# Trap: a library that comes and goes while threads allocate, wait, fork, load modules, begin and end: the program hangs,
# crashes, or calls a function of a table that is half changed.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
plugin=$(realpath "$srcdir/tests/traps/attached/plugin.c")
cd "$work"
for flags in -Wl,-z,lazy -Wl,-z,now; do
	$CC -O2 -fno-builtin -fPIC -shared $flags -o "plugin$flags.so" "$plugin" || skip "no compiler"
done
ends_well bare bare "$builddir/tests/traps/attached_storm/host" 100 ./plugin-Wl,-z,now.so
for flags in -Wl,-z,lazy -Wl,-z,now; do
	ends_well bare attached "$builddir/tests/traps/attached_storm/host" 100 "$CP_LIBRARY" "./plugin$flags.so"
	check_same_output attached bare
done
finish
