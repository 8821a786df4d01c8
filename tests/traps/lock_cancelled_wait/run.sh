# SPDX-License-Identifier: BSD-3-Clause
# Trap: a wait for a condition or a semaphore is cancelled, and unwinds through the profiler's function.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/lock.sh"
limit=$bounded
bare bare ./tests/traps/lock_cancelled_wait/host
check_status bare 0
lock_profiled on ./tests/traps/lock_cancelled_wait/host
check_status on 0
check_same_output on bare
check_quiet on
finish
