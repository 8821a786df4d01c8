#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# std::mutex and its kin, whose waits have the C++ function that locks above libc's.
. "$srcdir/tests/lib/e2e.sh"
. "$srcdir/tests/lib/lock.sh"
limit=$bounded
bare bare ./tests/e2e/lock-cxx
check_status bare 0
lock_profiled cxx ./tests/e2e/lock-cxx
check_status cxx 0
check_same_output cxx bare
check_quiet cxx
check_valid_as lock "$work/cxx.pb" "$work/cxx.holders.pb"
while read -r leaf function lock; do
	[ "$(lock_ns "$work/cxx.pb" "(^|;)(__)?$leaf.*;$function;" "^$lock\$")" -gt 0 ] ||
		fail "no wait in $leaf of $function for $lock"
done <<'END'
pthread_mutex_lock in_mutex plain
pthread_rwlock_[rw][dr]lock in_(shared|exclusive) shared
pthread_mutex_(clock|timed)lock in_timed timed
pthread_mutex_lock in_recursive recursive
pthread_cond_(clock|timed)wait in_condition condition
END
[ "$(lock_ns "$work/cxx.holders.pb" "^pthread_mutex_unlock;")" -gt 0 ] || fail "nobody held a mutex"
finish
