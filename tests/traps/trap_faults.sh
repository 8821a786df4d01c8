#!/bin/bash
# What the profiler needs for itself can't be had: memory, timers, its thread, files, at some call each. The program notices
# nothing, a line says what to do, what was collected is on disk. `make faults` walks through every call.
. "$srcdir/tests/lib/e2e.sh"
"$builddir/tests/faults/inject" --library "$CP_LIBRARY" --report "$work/report" -- true || [ $? != 77 ] || skip "x86_64 only"
grep -q '^seen' "$work/report" || skip "no ptrace here"

# Points spread over a run: the start, the dump, threads, the children, the end.
FAULT_LAST=500 FAULT_JOBS=4 FAULT_STEP=83 bash "$srcdir/tests/faults/walk.sh" mmap:ENOMEM || fail "mmap"
FAULT_LAST=16 FAULT_JOBS=4 FAULT_STEP=5 bash "$srcdir/tests/faults/walk.sh" timer_create:EAGAIN+ clone3:EAGAIN+ \
	write:ENOSPC fsync:EIO renameat:EACCES+ openat:EMFILE+ fstat:EIO || fail "other calls"
FAULT_LAST=6 FAULT_JOBS=4 FAULT_STEP=5 bash "$srcdir/tests/faults/walk.sh" timer_settime:EINVAL || fail "a timer that can't be set"
finish
