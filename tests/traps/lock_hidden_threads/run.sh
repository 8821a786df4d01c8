# SPDX-License-Identifier: BSD-3-Clause
# Trap: a thread that libc creates unseen waits before the sweep has found it, and its waits have no stack.
. "$srcdir/tests/lib/lock.sh"
same_as_bare lock on ./tests/traps/lock_hidden_threads/host
check_valid_as lock "$work/on.pb"
waits=$(lock_values "$work/on.pb" '^pthread_cond_timedwait;wait_hidden;hidden;' | cut -d' ' -f1)
[ "$waits" = 5 ] || fail "$waits waits of 5 have a stack: $("$pprof_check" --raw "$work/on.pb")"
finish
