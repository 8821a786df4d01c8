# SPDX-License-Identifier: BSD-3-Clause
# Trap: a lock function's result is not the lock's own: a trylock made first takes a robust mutex whose owner died,
# and the lock after it waits for itself. All kinds of mutexes, rwlocks, semaphores, conditions and C11's locks: every
# result and errno are the same as without the library.
. "$srcdir/tests/lib/lock.sh"
limit=$bounded
ends_well bare bare ./tests/traps/lock_return_codes/host
[ "$(grep -c '^mutex' "$work/bare.out")" = 33 ] || fail "not all kinds of mutexes were tried"
same_as_bare cpu off ./tests/traps/lock_return_codes/host
for threshold in 0 1us 1h; do
	CPROF_LOCK_THRESHOLD=$threshold same_as_bare lock "on-$threshold" ./tests/traps/lock_return_codes/host
	check_valid_as lock "$work/on-$threshold.pb"*
done
finish
