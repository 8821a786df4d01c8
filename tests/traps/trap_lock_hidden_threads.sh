#!/bin/bash
# Trap: a thread that libc makes behind our back waits before anybody has found it, and its waits have no stack.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/lock.sh"
bare bare ./tests/traps/lock-hidden
check_status bare 0
lock_profiled on ./tests/traps/lock-hidden
check_status on 0
check_same_output on bare
check_quiet on
check_valid_as lock "$work/on.pb"
waits=$(lock_values "$work/on.pb" '^pthread_cond_timedwait;wait_hidden;hidden;' | cut -d' ' -f1)
[ "$waits" = 5 ] || fail "$waits waits of 5 have a stack: $("$pprof_check" --raw "$work/on.pb")"
finish
