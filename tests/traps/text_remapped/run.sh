# SPDX-License-Identifier: BSD-3-Clause
# Trap: a program moves its text into anonymous memory (huge pages): the address belongs to no file any more. Samples
# keep it, with the callers above it.
. "$srcdir/tests/lib/loader.sh"
[ "$(getconf PAGESIZE)" = 4096 ] || skip "written for pages of 4096 bytes"

plugin a
for unwinder in dwarf fp libunwind; do
	CPROF_UNWIND=$unwinder profiles_well profiled "$unwinder" "$host" open "$work/a.so" work 100 remap work 300 close
	check_top "$work/$unwinder.pb" 1 '//anon+0x'
done
for unwinder in dwarf libunwind; do
	check_stack "$work/$unwinder.pb" '	//anon\+0x[0-9a-f]+;//anon\+0x[0-9a-f]+;.*main;'
done
finish
