# SPDX-License-Identifier: BSD-3-Clause
# libunwind in the host: its weak backtrace() replaces glibc's there.
. "$srcdir/tests/lib/e2e.sh"
bare bare ./tests/traps/libunwind_backtrace_not_replaced/host
for unwind in auto libunwind; do
	CPROF_UNWIND=$unwind ends_well profiled "$unwind" ./tests/traps/libunwind_backtrace_not_replaced/host
	check_same_output "$unwind" bare
	check_valid "$work/$unwind.pb"
done
grep -q '^backtrace: libc' "$work/bare.out" || fail "backtrace is not libc's even without us"
finish
