#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Trap: the program carries its own copy of a library that the profiler uses (an executable
# that exports its own deflate, an older libunwind), and the profiler's calls bind to it.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/loader.sh"

$CC -O2 -fno-builtin -w -rdynamic -o "$work/hostile" "$srcdir/tests/traps/program_exports_our_names/hostile-exports.c" ||
	fail "hostile: not built"
# libunwind isn't loaded into a program with an allocator of its own.
$CC -O2 -fno-builtin -w -rdynamic -DWITHOUT_ALLOCATOR -o "$work/hostile-libunwind" \
	"$srcdir/tests/traps/program_exports_our_names/hostile-exports.c" || fail "hostile-libunwind: not built"
ln -s hostile "$work/hostile-dwarf"
ln -s hostile "$work/hostile-fp"
bare plain "$work/hostile"
check_status plain 0
for unwinder in dwarf fp libunwind; do
	CPROF_UNWIND=$unwinder profiled "$unwinder" "$work/hostile-$unwinder"
	check_status "$unwinder" 0
	check_quiet "$unwinder"
	check_same_output "$unwinder" plain
	check_valid "$work/$unwinder.pb"
	check_top "$work/$unwinder.pb" 1 hot_here
done
for unwinder in dwarf libunwind; do
	check_stack "$work/$unwinder.pb" '^[0-9,]+.*	hot_here;undescribed;main;'
done
finish
