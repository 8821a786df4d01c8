# SPDX-License-Identifier: BSD-3-Clause
# NAME.wakers.EXT: for each kind of wait, the stack that waits and the stack that ends the wait, with the shares that the
# program gives to its two waking threads; waits that nobody ends, and that another process ends.
. "$srcdir/tests/lib/lock.sh"

# "waits ns" of the rows whose waiting function and waking part match.
wakers_of() { # name waker waiter
	lock_values "$work/$1.wakers.pb" "^([^]]*;)?($2)(;[^]]*)?;\[woken by\];($3);"
}

# The program times around the wait, and the profile within it. While a thread isn't running between these clocks, only
# the program's time goes on; on a busy machine that is some part of a wait of 2 ms. A wait that ends before it slept is
# none.
check_of_waker() { # name waker waiter waits ns
	read -r waits ns <<<"$(wakers_of "$1" "$2" "$3")"
	awk -v waits="$waits" -v most="$4" -v ns="$ns" -v around="$5" 'BEGIN {
		exit !(waits > 0 && waits <= most && waits >= most - 4 && ns <= around && ns * 10 >= around * 7) }' ||
		fail "$1: $2 ended $waits waits of $ns ns, not $4 of $5"
}

for kind in sem:sem_wait cond:pthread_cond_wait broadcast:pthread_cond_wait cnd:cnd_wait barrier:pthread_barrier_wait \
	futex:syscall join:pthread_join; do
	name=${kind%:*} waits_in=${kind#*:} wakers="producer_a producer_b"
	[ $name = join ] && wakers="worker_a worker_b"
	runs_well lock_profiled $name ./tests/e2e/lock-wakers-host $name
	check_valid_as lock "$work/$name.pb" "$work/$name.wakers.pb"
	read -r _ a b <"$work/$name.out"
	set -- $wakers
	check_of_waker $name "$1" "$waits_in" 28 "$a"
	check_of_waker $name "$2" "$waits_in" 12 "$b"
done

# The tables begin with the functions that wake, not with libc's.
./cprof top -nodecount=1 "$work/cond.wakers.pb" >"$work/top" 2>&1
grep -q ' produce$' "$work/top" || fail "the first function of the top isn't that which wakes: $(cat "$work/top")"
./cprof tags "$work/sem.wakers.pb" | grep -q ' sem$' || fail "the semaphore has no name"

for kind in timeout:sem_timedwait:timed_out process:sem_wait:waker_unknown; do
	name=${kind%%:*} waits_in=${kind#*:} mark=${kind##*:}
	ends_well lock_profiled $name ./tests/e2e/lock-wakers-host $name
	check_valid_as lock "$work/$name.wakers.pb"
	read -r waits ns <<<"$(lock_values "$work/$name.wakers.pb" "^\[${mark//_/ }\];${waits_in%:*};")"
	# All that there were: if this thread comes late, the other process has posted before, and it needs no wait.
	read -r all _ <<<"$(lock_values "$work/$name.pb" "^${waits_in%:*};")"
	[ "$waits" -ge 1 ] && [ "$waits" = "$all" ] || fail "$name: $waits of $all waits are [${mark//_/ }]"
done
finish
