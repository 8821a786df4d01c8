# Trap: a thread that libc doesn't know waits in a futex; its TLS is another's, or holds nothing of
# libc's. Its waits are counted, without a stack.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/lock.sh"
bare bare ./tests/traps/lock-raw-threads
check_status bare 0
lock_profiled on ./tests/traps/lock-raw-threads
check_status on 0
check_same_output on bare
check_quiet on
[ "$(lock_values "$work/on.pb" '^\[waits without a stack\]$' | cut -d' ' -f1)" = 100 ] ||
	fail "not 100 waits without a stack: $("$pprof_check" --raw "$work/on.pb")"
finish
