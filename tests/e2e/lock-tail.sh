# SPDX-License-Identifier: BSD-3-Clause
# The holder of a lock is named where its last act is the unlock, which is then a tail call: when the
# unlock runs, the holder's frame is gone.
. "$srcdir/tests/lib/lock.sh"
limit=$bounded
runs_well lock_profiled tail ./tests/e2e/lock-tail-host
check_valid_as lock "$work/tail.pb" "$work/tail.holders.pb"
cases=0
while read -r lock holder; do
	cases=$((cases + 1))
	told=$(lock_ns "$work/tail.holders.pb" "^[a-z_]*unlock;${holder:+$holder;}call_holder;" "^$lock\$")
	all=$(lock_ns "$work/tail.holders.pb" ";call_holder;" "^$lock\$")
	awk -v told="$told" -v all="$all" 'BEGIN { exit !(all > 0 && told >= 0.99 * all) }' ||
		fail "$lock: $holder is told of $told ns of $all: $("$pprof_check" --raw "$work/tail.holders.pb" | grep "lock=$lock")"
done <"$work/tail.out"
[ $cases = 10 ] || fail "$cases cases"
finish
