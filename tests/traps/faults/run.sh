# SPDX-License-Identifier: BSD-3-Clause
# The profiler can't have the things that it needs for itself: memory, timers, its thread, files, at some call each.
# The program notices nothing, a line says what to do, and the samples so far are on disk. `make faults` walks through
# every call.
. "$srcdir/tests/lib/e2e.sh"
"$builddir/tests/faults/inject" --library "$CP_LIBRARY" --report "$work/report" -- true || [ $? != 77 ] || skip "x86_64 only"
grep -q '^seen' "$work/report" || skip "no ptrace here"

# Points spread over a run: the start, the dump, threads, the children, the end.
FAULT_LAST=500 FAULT_JOBS=4 FAULT_STEP=83 bash "$srcdir/tests/faults/walk.sh" mmap:ENOMEM || fail "mmap"
FAULT_LAST=16 FAULT_JOBS=4 FAULT_STEP=5 bash "$srcdir/tests/faults/walk.sh" timer_create:EAGAIN+ clone3:EAGAIN+ \
	write:ENOSPC fsync:EIO renameat:EACCES+ openat:EMFILE+ fstat:EIO || fail "other calls"
FAULT_LAST=6 FAULT_JOBS=4 FAULT_STEP=5 bash "$srcdir/tests/faults/walk.sh" timer_settime:EINVAL || fail "a timer that can't be set"
# As sandboxes answer that have no clocks of threads; the kernel does where the thread has ended.
FAULT_LAST=1 FAULT_JOBS=1 bash "$srcdir/tests/faults/walk.sh" timer_create:EINVAL timer_create:EINVAL+ || fail "no clock of a thread"

# Files that can't be read: stacks are as ever, names come from memory, and whose are missing is said.
CPUPROFILE="$work/unreadable.pb" bare unreadable "$builddir/tests/faults/inject" --library "$CP_LIBRARY" --report "$work/report" \
	--call pread64 --how EIO --at 1 --beyond -- env LD_PRELOAD="$CP_LIBRARY" CPUPROFILE_FREQUENCY=1000 "$builddir/tests/faults/host" short
check_status unreadable 4
check_valid "$work/unreadable.pb"
check_comment "$work/unreadable.pb" 'symbols could not be read: EIO: input/output error: .*/host$'
grep -q '^libcprof: the cpu profile lacks names: symbols could not be read: EIO: .*/host; ' "$work/unreadable.err" ||
	fail "nothing is said of names that are missing: $(head -n 3 "$work/unreadable.err")"
[ "$(wc -l <"$work/unreadable.err")" = 1 ] || fail "not one line: $(head -n 3 "$work/unreadable.err")"
check_stack "$work/unreadable.pb" 'host\+0x.*;(__libc_start_main|libc\.so\+0x)'
finish
