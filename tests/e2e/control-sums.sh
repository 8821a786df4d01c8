#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The windows of a run sum to the run: of every mode and companion in the library's table, of every type that is a sum,
# stack by stack, and in the comments; for three who take windows at the same time, while threads and children end, and to
# the end of the process.
. "$srcdir/tests/lib/control.sh"
program=$builddir/tests/e2e/windows-host
"$builddir/tests/tools/list-modes" >"$work/modes" || fail "no list of modes"
mkdir "$work/files"
settings=(LD_PRELOAD="$CP_LIBRARY" CPROF_CONTROL=on CPROF_SYMBOLIZE=names CPUPROFILE_FREQUENCY=1000
	WALLPROFILE_FREQUENCY=1000 CPROF_HEAP_VIEWS=resident,lifetimes,fragmentation,mmap
	CPROF_IO_WAKERS=1)
for variable in $(cut -f3 "$work/modes" | sort -u); do
	settings+=("$variable=$work/files/$variable.pb")
done
status=0
timeout 60 $python "$srcdir/tests/lib/control-sums.py" "$work" "$pprof_check" env "${settings[@]}" "$program" \
	>"$work/out" 2>&1 || status=$?
[ $status = 0 ] || fail "$(cat "$work/out")"
finish
