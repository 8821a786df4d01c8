# SPDX-License-Identifier: BSD-3-Clause
# Trap: locks are taken when nothing is ready or all is over: in an allocator that dlsym calls, in
# constructors, in fork handlers and children, in key destructors after our own, at exit.
. "$srcdir/tests/lib/lock.sh"
limit=$bounded
same_as_bare cpu off ./tests/traps/lock_at_the_edges/host
for unwinder in dwarf fp; do
	CPROF_UNWIND=$unwinder same_as_bare lock "$unwinder" ./tests/traps/lock_at_the_edges/host
	check_valid_as lock "$work/$unwinder.pb"*
done
# That its malloc is not seen is said.
bare bare ./tests/traps/lock_at_the_edges/host
CPUPROFILE="$work/all.cpu" HEAPPROFILE="$work/all.heap" ends_well lock_profiled all ./tests/traps/lock_at_the_edges/host
check_same_output all bare

# In a constructor of a library that is preloaded after libcprof. It runs before the profiler's constructor if that library
# asks to be first, too: the loader honours the last one that does.
cat >"$work/early.c" <<'END'
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>
__attribute__((constructor)) static void first(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	struct timespec past = { 1, 0 };
	pthread_spinlock_t spin;
	mtx_t mtx;
	sem_t s;
	int wrong = 0;
	pthread_spin_init(&spin, 0);
	mtx_init(&mtx, mtx_plain);
	sem_init(&s, 0, 1);
	wrong += pthread_mutex_lock(&m) != 0;
	wrong += pthread_cond_timedwait(&c, &m, &past) == 0;
	wrong += pthread_mutex_unlock(&m) != 0;
	wrong += pthread_rwlock_rdlock(&l) || pthread_rwlock_unlock(&l);
	wrong += pthread_rwlock_wrlock(&l) || pthread_rwlock_unlock(&l);
	wrong += pthread_spin_lock(&spin) || pthread_spin_unlock(&spin);
	wrong += mtx_lock(&mtx) != thrd_success || mtx_unlock(&mtx) != thrd_success;
	wrong += sem_wait(&s) || sem_timedwait(&s, &past) == 0;
	printf("%d wrong\n", wrong);
}
END
for first in '' -Wl,-z,initfirst; do
	$CC -O1 -w -shared -fPIC $first -o "$work/early.so" "$work/early.c" -pthread || fail "early.so: not built"
	ends_well bare early env LD_PRELOAD="$CP_LIBRARY $work/early.so" LOCKPROFILE="$work/early.pb" CPROF_LOCK_THRESHOLD=0 true
	[ "$(cat "$work/early.out")" = "0 wrong" ] || harm "early $first: $(cat "$work/early.out")"
	check_quiet early
done
finish
