# SPDX-License-Identifier: BSD-3-Clause
# Trap: a wake comes from a signal handler, or from a thread that ends at once; a wait is cancelled, left by a jump,
# interrupted by a handler that waits itself, or in another thread while the process forks.
. "$srcdir/tests/lib/lock.sh"
limit=$bounded
same_as_bare lock on ./tests/traps/lock_wakers_at_the_edges/host
check_valid_as lock "$work/on.wakers.pb"

rows() { # file regex
	lock_values "$1" "$2" | cut -d' ' -f1
}
file=$work/on.wakers.pb
[ "$(rows "$file" '^sem_post;post_in_handler;.*;\[woken by\];sem_wait;wait_for_handler;')" = 1 ] ||
	fail "the handler isn't the waker: $("$pprof_check" --raw "$file" | grep wait_for_handler)"
[ "$(rows "$file" '^sem_post;post_and_end;.*;\[woken by\];sem_wait;wait_for_ended;')" = 1 ] ||
	fail "the thread that ended isn't the waker: $("$pprof_check" --raw "$file" | grep wait_for_ended)"
[ "$(rows "$file" 'sem_wait;wait_until_cancelled')" = 0 ] || fail "a wait that was cancelled is in the profile"
[ "$(rows "$file" '^sem_post;post;post_after_jump;.*;\[woken by\];sem_wait;wait_after_jump;')" = 1 ] ||
	fail "after a jump out of a wait: $("$pprof_check" --raw "$file" | grep wait_after_jump)"
[ "$(rows "$file" '^\[timed out\];sem_timedwait;wait_in_handler;')" = 1 ] ||
	fail "a wait in a handler: $("$pprof_check" --raw "$file" | grep wait_in_handler)"
[ "$(rows "$file" '^sem_post;post;post_to_forked;.*;\[woken by\];sem_wait;wait_over_fork;')" = 1 ] ||
	fail "over a fork: $("$pprof_check" --raw "$file" | grep wait_over_fork)"
child=$(ls "$work"/on.wakers.pb.[0-9]* 2>/dev/null)
if [ -z "$child" ]; then
	fail "the child wrote no file"
else
	check_valid_as lock "$child"
	[ "$(rows "$child" '^sem_post;post;post_in_child;.*;\[woken by\];sem_wait;wait_in_child;')" = 1 ] ||
		fail "in the child: $("$pprof_check" --raw "$child")"
	[ "$(rows "$child" wait_over_fork)" = 0 ] || fail "the child has a wait of its parent"
fi
finish
