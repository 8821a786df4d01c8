# SPDX-License-Identifier: BSD-3-Clause
# Trap: waits that are too short or too many for a stack vanish, and the totals with them, or the totals are estimates.
. "$srcdir/tests/lib/lock.sh"
with_inner
check_total() { # what name
	read -r around within <<<"$(awk '{ s += $2; t += $3 } END { printf "%.0f %.0f", s, t }' "$work/$2.out")"
	check_waited "$1" "$(lock_ns "$work/$2.pb" .)" "$around" "$within" 1 1
}

# All of them too short.
CPROF_LOCK_THRESHOLD=1h ends_well lock_profiled short ./tests/e2e/lock-host
check_valid_as lock "$work/short.pb"
check_total "short waits" short
check_delay_share "$work/short.pb" '^[[]short waits[]]$' 100
check_comment "$work/short.pb" '^waits: 0 stacks taken; [1-9][0-9]* waits of [0-9.]* s in all were below the threshold'

# Too many for a stack each.
CPROF_LOCK_THRESHOLD=0 ends_well lock_profiled many ./tests/e2e/lock-host long
check_valid_as lock "$work/many.pb"
check_total "many waits" many
[ "$(lock_ns "$work/many.pb" '^[[]short waits[]]')" = 0 ] || fail "threshold 0: short waits"

# Many in a few milliseconds: each is counted.
CPROF_LOCK_THRESHOLD=0 ends_well lock_profiled turns ./tests/e2e/lock-host turns
read -r want _ <"$work/turns.out"
read -r waits _ <<<"$(lock_values "$work/turns.pb" '(^|;)wait_turn;')"
[ "$waits" = "$want" ] || fail "condition waits: $waits, not $want"
finish
