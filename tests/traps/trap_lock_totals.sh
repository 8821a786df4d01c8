# Trap: waits that are too short or too many for a stack vanish, and the totals with them.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/lock.sh"
truth() { # name
	awk '{ s += $2 } END { printf "%.0f", s }' "$work/$1.out"
}

# All of them too short.
CPROF_LOCK_THRESHOLD=1h lock_profiled short ./tests/e2e/lock-host
check_status short 0
check_valid_as lock "$work/short.pb"
check_near "short waits" "$(lock_ns "$work/short.pb" .)" "$(truth short)" 5
check_delay_share "$work/short.pb" '^\[short waits\]$' 100
check_comment "$work/short.pb" '^waits: 0 stacks taken; [1-9][0-9]* waits of [0-9.]* s in all were below the threshold'

# Too many: a thread's sum is right to one stratum, 50 ms of about a second.
CPROF_LOCK_THRESHOLD=0 CPROF_LOCK_BUDGET=40 lock_profiled many ./tests/e2e/lock-host long
check_status many 0
check_valid_as lock "$work/many.pb"
check_near "many waits" "$(lock_ns "$work/many.pb" .)" "$(truth many)" 5
[ "$(lock_ns "$work/many.pb" '^\[short waits\]')" = 0 ] || fail "threshold 0: short waits"
finish
