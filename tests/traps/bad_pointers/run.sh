# SPDX-License-Identifier: BSD-3-Clause
# Trap: an interposed function reads or writes through a pointer of the program before the kernel has accepted it:
# SIGSEGV where the program gets EFAULT or EINVAL. Where libc itself faults, it is the same fault.
. "$srcdir/tests/lib/e2e.sh"
limit=$bounded
host=./tests/traps/bad_pointers/host

ends_well bare plain $host
grep -q 'b_futex_waitv NULL: -1' "$work/plain.out" || echo "# no futex_waitv here"
bare idle env LD_PRELOAD="$CP_LIBRARY" $host
profiled all env LOCKPROFILE="$work/lock.pb" IOPROFILE="$work/io.pb" WALLPROFILE="$work/wall.pb" CPROF_IO_WAKERS=1 CPROF_IO_TARGET=full $host
# Which field of a sigaction is read first is the compiler's choice: on aarch64, libc's reads the flags, at its end.
[ "$(uname -m)" != aarch64 ] || sed -i 's/^\(b_sigaction.*: signal 11\).*/\1/' "$work"/{plain,idle,all}.out
# musl reads other parts first than the library does, and through other registers: it is a fault in either case.
[ "${CP_LIBC:-glibc}" = glibc ] || sed -i 's/: signal \(7\|11\).*/: a fault/' "$work"/{plain,idle,all}.out
# Some virtual machines now and then try an atomic access for ever that lies across two pages of which neither may be
# written, instead of a fault.
sed -i 's/^\(b_\(spin\|rwlock\|mutex\|cond\|sem\|barrier\)_[a-z]* end\): \(status e\|signal 11.*\|a fault\)$/\1: a fault, or tried for ever/' "$work"/{plain,idle,all}.out
for name in idle all; do
	check_status $name 0
	check_same_output $name plain
	diff "$work/plain.out" "$work/$name.out" | head -n 20 | sed 's/^/# /'
done
finish
