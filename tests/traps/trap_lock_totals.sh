# Trap: waits that are too short or too many for a stack vanish, and the totals with them.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/lock.sh"
for threshold in 0 1h; do
	CPROF_LOCK_THRESHOLD=$threshold CPROF_LOCK_BUDGET=10 lock_profiled "t$threshold" ./tests/e2e/lock-host
	check_status "t$threshold" 0
	check_valid_as lock "$work/t$threshold.pb"
	truth=$(awk '{ s += $2 } END { printf "%.0f", s }' "$work/t$threshold.out")
	# Out of its budget, a thread's sum is right to one stratum: 200 ms.
	check_near "threshold $threshold" "$(lock_ns "$work/t$threshold.pb" .)" "$truth" 15
done
check_delay_share "$work/t1h.pb" '^\[short waits\]$' 100
check_comment "$work/t1h.pb" '^waits: 0 stacks taken; [1-9][0-9]* waits of [0-9.]* s in all were below the threshold'
[ "$(lock_ns "$work/t0.pb" '^\[short waits\]')" = 0 ] || fail "threshold 0: short waits"
finish
