# SPDX-License-Identifier: BSD-3-Clause
# Trap: libc has each pthread_cond_* function in two versions, and the older one has another layout of the object: a
# thread that waits by one version and is signalled by the other sleeps for ever. Calls are forwarded to the version
# with which programs are linked today.
. "$srcdir/tests/lib/lock.sh"

cat >"$work/cond.c" <<'END'
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
/* With what the old object would overwrite, or not look at, around it. */
static struct {
	char before[32];
	pthread_cond_t c;
	char after[32];
} s = { "before", PTHREAD_COND_INITIALIZER, "after" };
static int waiting, go, woken, wrong;
static void *wait_for_it(void *arg)
{
	struct timespec t;
	pthread_mutex_lock(&m);
	waiting++;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 60;
	while (!go)
		wrong += (arg ? pthread_cond_timedwait(&s.c, &m, &t) : pthread_cond_wait(&s.c, &m)) != 0;
	woken++;
	pthread_mutex_unlock(&m);
	return NULL;
}
int main(void)
{
	pthread_condattr_t attr;
	pthread_cond_t monotonic;
	struct timespec t;
	pthread_t threads[4];
	int here = 0, err;
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, wait_for_it, i % 2 ? &m : NULL);
	while (here < 4) {
		pthread_mutex_lock(&m);
		here = waiting;
		pthread_mutex_unlock(&m);
	}
	pthread_mutex_lock(&m);
	go = 1;
	pthread_cond_broadcast(&s.c);
	pthread_mutex_unlock(&m);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	/* The old object knows no other clock: the time would be far in the past. */
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&monotonic, &attr);
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += t.tv_nsec < 900000000 ? 20000000 : 0;
	t.tv_sec += t.tv_nsec < 920000000 ? 0 : 1;
	pthread_mutex_lock(&m);
	do
		err = pthread_cond_timedwait(&monotonic, &m, &t);
	while (!err);
	pthread_mutex_unlock(&m);
	clock_gettime(CLOCK_MONOTONIC, &(struct timespec){ 0 });
	printf("%d woken, %d wrong, %s, %s%s\n", woken, wrong, strerror(err), s.before, s.after);
	return 0;
}
END
$CC -O1 -w -o "$work/cond" "$work/cond.c" -pthread || fail "not built"
limit="timeout -s KILL 20"
for threshold in 0 1h; do
	CPROF_LOCK_THRESHOLD=$threshold same_as_bare lock "on-$threshold" "$work/cond"
done
check_valid_as lock "$work/on-0.pb"
[ "$(lock_ns "$work/on-0.pb" '^pthread_cond_wait;wait_for_it;')" -gt 0 ] || fail "no wait for the condition"
finish
