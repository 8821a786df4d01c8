# SPDX-License-Identifier: BSD-3-Clause
# Trap: a wait for a condition or a semaphore is cancelled, and unwinds through the profiler's function.
. "$srcdir/tests/lib/lock.sh"
limit=$bounded
same_as_bare lock on ./tests/traps/lock_cancelled_wait/host
finish
