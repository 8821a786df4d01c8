# SPDX-License-Identifier: BSD-3-Clause
# Waits of every kind, compared with the program's own measurements: per kind; the variable's name; waiters and holders.
. "$srcdir/tests/lib/lock.sh"

with_inner

# What the holders of locks have caused is what was waited for these locks.
check_holders() { # name
	waits=$(lock_values "$work/$1.pb" .)
	caused=$(lock_values "$work/$1.holders.pb" .)
	[ "$waits" = "$caused" ] || fail "the holders of $1 sum to $caused, the waits to $waits"
}

# Each kind, of which a thread has few enough waits that all are recorded: the profile has the waits that slept, to 1 %,
# and not a nanosecond that the program didn't wait.
runs_well lock_profiled kinds ./tests/e2e/lock-host
check_valid_as lock "$work/kinds.pb" "$work/kinds.holders.pb"
kinds=0
while read -r kind around within; do
	kinds=$((kinds + 1))
	check_waited "waits of kind $kind" "$(lock_ns "$work/kinds.pb" "(^|;)wait_$kind;")" "$around" "$within" 1 0
done <"$work/kinds.out"
[ $kinds = 19 ] || fail "$kinds kinds of waits"

inner=

# The thread that held it for long, not the thread that unlocked last.
runs_well lock_profiled holders ./tests/e2e/lock-host holders
check_valid_as lock "$work/holders.pb" "$work/holders.holders.pb"
check_delay_share "$work/holders.pb" '^pthread_mutex_lock;(quick|slow)_holder;hold;' 99
check_holders holders
# While nobody had it, a waiter was on its way: whose time that is can't be said.
read -r slow quick all <"$work/holders.out"
told=$(lock_ns "$work/holders.holders.pb" '^pthread_mutex_unlock;slow_holder;hold;')
awk -v told="$told" -v told_all="$(lock_ns "$work/holders.holders.pb" .)" -v slow="$slow" -v quick="$quick" -v all="$all" 'BEGIN {
	exit !(told_all > 0 && told / told_all >= slow / all - 0.15 && told / told_all <= (all - quick) / all + 0.15) }' ||
	fail "slow_holder is told of $told ns; of $all others waited $slow for it, $quick for quick_holder"
check_delay_share "$work/holders.holders.pb" '^pthread_mutex_unlock;(quick|slow)_holder;hold;' 99

# A thread holds the lock for long ten times, among a hundred thousand short holds, few of which are recorded.
runs_well lock_profiled rare ./tests/e2e/lock-host rare
check_holders rare
read -r around within <"$work/rare.out"
check_waited "for the rare holder" "$(lock_ns "$work/rare.holders.pb" '^pthread_mutex_unlock;rare_holder;hold_often;')" \
	"$around" "$within" 5 5
finish
