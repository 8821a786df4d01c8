# SPDX-License-Identifier: BSD-3-Clause
# Trap: a lock function's result is not the lock's own: a trylock made first takes a robust mutex whose owner died,
# and the lock after it waits for itself. All kinds of mutexes, rwlocks, semaphores, conditions and C11's locks: every
# result and errno are the same as without the library.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/lock.sh"
limit=$bounded
bare bare ./tests/traps/lock_return_codes/host
check_status bare 0
[ "$(grep -c '^mutex' "$work/bare.out")" = 33 ] || fail "not all kinds of mutexes were tried"
profiled off ./tests/traps/lock_return_codes/host
check_status off 0
check_same_output off bare
for threshold in 0 1us 1h; do
	CPROF_LOCK_THRESHOLD=$threshold lock_profiled "on-$threshold" ./tests/traps/lock_return_codes/host
	check_status "on-$threshold" 0
	check_same_output "on-$threshold" bare
	check_quiet "on-$threshold"
	check_valid_as lock "$work/on-$threshold.pb"*
done
finish
