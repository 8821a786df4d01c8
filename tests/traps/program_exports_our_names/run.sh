# SPDX-License-Identifier: BSD-3-Clause
# Trap: the program carries its own copy of a library that the profiler uses (an executable
# that exports its own deflate, an older libunwind), and the profiler's calls bind to it.
. "$srcdir/tests/lib/loader.sh"

$CC -O2 -fno-builtin -w -rdynamic -o "$work/hostile" "$srcdir/tests/traps/program_exports_our_names/hostile-exports.c" ||
	fail "hostile: not built"
# libunwind isn't loaded into a program with an allocator of its own.
$CC -O2 -fno-builtin -w -rdynamic -DWITHOUT_ALLOCATOR -o "$work/hostile-libunwind" \
	"$srcdir/tests/traps/program_exports_our_names/hostile-exports.c" || fail "hostile-libunwind: not built"
ln -s hostile "$work/hostile-dwarf"
ln -s hostile "$work/hostile-fp"
ends_well bare plain "$work/hostile"
for unwinder in dwarf fp libunwind; do
	CPROF_UNWIND=$unwinder profiled "$unwinder" "$work/hostile-$unwinder"
	check_ended_valid "$unwinder" 0 plain
	check_top "$work/$unwinder.pb" 1 hot_here
done
for unwinder in dwarf libunwind; do
	check_stack "$work/$unwinder.pb" '^[0-9,]+.*	hot_here;undescribed;main;'
done
finish
