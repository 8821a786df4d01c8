# SPDX-License-Identifier: BSD-3-Clause
# Trap: a way to wait that isn't seen: a condition that takes its mutex again, timed and clock forms, rwlocks,
# spin locks, semaphores, barriers, C11's, futexes through syscall(). Each is in the profile, with libc's
# function at the leaf and the lock by its name. (How long they took: tests/e2e/lock-truth.sh.)
. "$srcdir/tests/lib/lock.sh"

CPROF_LOCK_THRESHOLD=0 runs_well lock_profiled kinds ./tests/e2e/lock-host
check_valid_as lock "$work/kinds.pb"
while read -r leaf function lock; do
	[ "$(lock_ns "$work/kinds.pb" "^$leaf;$function;" "^$lock\$")" -gt 0 ] ||
		fail "no wait in $leaf of $function for $lock: $("$pprof_check" --raw "$work/kinds.pb" |
			grep -F "$function;" | head -n 2)"
done <<'END'
pthread_mutex_lock wait_mutex host_mutex
pthread_mutex_timedlock wait_timed host_struct.0x8
pthread_mutex_clocklock wait_clocked host_mutex
mtx_lock wait_mtx host_mtx
mtx_timedlock wait_mtx_timed host_mtx
pthread_rwlock_rdlock wait_rwlock host_rwlock
pthread_rwlock_wrlock wait_rwlock host_rwlock
pthread_rwlock_timedrdlock wait_rwlock_timed host_rwlock
pthread_rwlock_timedwrlock wait_rwlock_timed host_rwlock
pthread_rwlock_clockrdlock wait_rwlock_clocked host_rwlock
pthread_rwlock_clockwrlock wait_rwlock_clocked host_rwlock
pthread_spin_lock wait_spin host_spin
sem_wait wait_sem host_sem
sem_timedwait wait_sem_timed host_sem
sem_clockwait wait_sem_clocked host_sem
pthread_cond_wait wait_cond host_cond
pthread_cond_timedwait wait_cond_timed host_cond
pthread_cond_clockwait wait_cond_clocked host_cond
cnd_wait wait_cnd host_cnd
cnd_timedwait wait_cnd_timed host_cnd
syscall word_lock host_word
pthread_barrier_wait wait_barrier host_barrier
END
finish
