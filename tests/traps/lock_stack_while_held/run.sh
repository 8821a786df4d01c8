# SPDX-License-Identifier: BSD-3-Clause
# Trap: the stack of the thread that lets a waiter go is taken with the lock held: the waiter waits for that, too. The
# test reads no clock: the walk is stopped in its middle, and the lock is free then.
. "$srcdir/tests/lib/lock.sh"
limit=$bounded

bare bare ./tests/traps/lock_stack_while_held/host
[ "$status" = 77 ] && skip "$(cat "$work/bare.err")"
check_status bare 0
[ "$(cat "$work/bare.out")" = "nobody took the stack" ] || fail "bare: $(cat "$work/bare.out")"
for unwinder in dwarf fp; do
	CPROF_LOCK_THRESHOLD=0 CPROF_UNWIND=$unwinder runs_well lock_profiled "$unwinder" ./tests/traps/lock_stack_while_held/host
	# Frame pointers may lead elsewhere, or end before.
	said=$(cat "$work/$unwinder.out")
	[ "$said" = "free while the stack is taken" ] || { [ $unwinder = fp ] && [ "$said" = "nobody took the stack" ]; } ||
		fail "$unwinder: $said"
done
check_stack "$work/dwarf.holders.pb" '^[0-9].*	pthread_mutex_unlock;bottom;descend;descend;.*hold;'
finish
