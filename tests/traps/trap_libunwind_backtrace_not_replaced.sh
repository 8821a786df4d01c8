# libunwind in the host: its weak backtrace() replaces glibc's there.
. "$srcdir/tests/lib/e2e.sh"
bare bare ./tests/traps/who-has-backtrace
for unwind in auto libunwind; do
	CPROF_UNWIND=$unwind profiled "$unwind" ./tests/traps/who-has-backtrace
	check_status "$unwind" 0
	check_same_output "$unwind" bare
	check_valid "$work/$unwind.pb"
done
grep -q '^backtrace: libc' "$work/bare.out" || fail "backtrace is not libc's even without us"
finish
