# Trap: a wait for a condition or a semaphore is cancelled, and unwinds through ours.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/lock.sh"
limit=$bounded
bare bare ./tests/traps/lock-cancel
check_status bare 0
lock_profiled on ./tests/traps/lock-cancel
check_status on 0
check_same_output on bare
check_quiet on
finish
