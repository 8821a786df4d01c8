# Trap: a thread that libc doesn't know waits in a futex; its TLS is another's, or holds nothing of
# libc's. Its waits are counted, and have a stack once the thread was found.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/lock.sh"
bare bare ./tests/traps/lock-raw-threads
check_status bare 0
CPROF_LOCK_BUDGET=100000 lock_profiled on ./tests/traps/lock-raw-threads
check_status on 0
check_same_output on bare
check_quiet on
[ "$(lock_values "$work/on.pb" '^([[]waits without a stack[]]$|[[]short waits[]]$|syscall;)' | cut -d' ' -f1)" = 300 ] ||
	fail "not 300 waits: $("$pprof_check" --raw "$work/on.pb")"
finish
