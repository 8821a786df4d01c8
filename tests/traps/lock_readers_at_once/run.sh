# SPDX-License-Identifier: BSD-3-Clause
# Trap: readers that unlock at once each see the others, and none is taken for the last one, for whom the writer waits.
# Whatever instruction of one unlock the other falls on, the writer's wait is one of the holders' once.
. "$srcdir/tests/lib/lock.sh"

[ "$(uname -m)" = x86_64 ] || skip "one instruction at a time on x86_64 only"
limit=$bounded
CPROF_LOCK_THRESHOLD=0 runs_well lock_profiled stepped ./tests/traps/lock_readers_at_once/host
check_valid_as lock "$work/stepped.pb" "$work/stepped.holders.pb"
rounds=$(cat "$work/stepped.out")
read -r told _ <<<"$(lock_values "$work/stepped.holders.pb" '^pthread_rwlock_unlock;unlock_shared;')"
# A wait that both unlocks made is counted in parts, which are rounded.
[ "$told" -ge $((rounds - 1)) ] && [ "$told" -le "$rounds" ] || fail "of $rounds waits for two readers, $told have a holder"
finish
