/* What every lock function returns, for all kinds of mutexes, free, held by the caller and held by
 * another; and what errno is afterwards. Printed as a table, which is the same whoever listens.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>
#include <linux/futex.h>

#include "host.h"

#define ERRNO_MARK 4711
#define HELD_NS 3000000

static struct timespec at(clockid_t clock, long ns)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ns;
	while (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

static void nap(long ns)
{
	struct timespec t = { 0, ns };

	nanosleep(&t, NULL);
}

/* One result, and whether errno is as it was. */
#define SAY(what, call)                                                                            \
	do {                                                                                       \
		int result_;                                                                       \
		errno = ERRNO_MARK;                                                                \
		result_ = (call);                                                                  \
		printf(" %s=%d%s", what, result_, errno == ERRNO_MARK ? "" : "!");                 \
	} while (0)
/* With errno. */
#define SAY_ERRNO(what, call)                                                                      \
	do {                                                                                       \
		int result_;                                                                       \
		errno = 0;                                                                         \
		result_ = (call);                                                                  \
		printf(" %s=%d/%d", what, result_, errno);                                         \
	} while (0)

struct kind {
	int type, protocol, robust, shared;
};

static pthread_mutex_t *new_mutex(const struct kind *k)
{
	pthread_mutex_t *m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
				  (k->shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, k->type);
	EXPECT(pthread_mutexattr_setprotocol(&attr, k->protocol) == 0);
	EXPECT(pthread_mutexattr_setrobust(&attr, k->robust) == 0);
	pthread_mutexattr_setpshared(&attr, k->shared);
	SAY("init", pthread_mutex_init(m, &attr));
	return m;
}

enum order { FREE, BRIEFLY, FOR_LONG, DIES };

static struct {
	pthread_mutex_t *m;
	enum order order;
	pthread_barrier_t taken, done;
} other;

/* Another thread, which has the mutex when the caller comes. */
static void *hold(void *arg)
{
	pthread_mutex_lock(other.m);
	pthread_barrier_wait(&other.taken);
	if (other.order == BRIEFLY)
		nap(HELD_NS);
	else if (other.order == FOR_LONG)
		pthread_barrier_wait(&other.done);
	if (other.order != DIES)
		pthread_mutex_unlock(other.m);
	return arg;
}

static pthread_t another_holds(pthread_mutex_t *m, enum order order)
{
	pthread_t t;

	other.m = m;
	other.order = order;
	pthread_create(&t, NULL, hold, NULL);
	pthread_barrier_wait(&other.taken);
	return t;
}

static void let_go(pthread_t t)
{
	if (other.order == FOR_LONG)
		pthread_barrier_wait(&other.done);
	pthread_join(t, NULL);
}

static void when_free(pthread_mutex_t *m)
{
	struct timespec past = { 1, 0 }, soon = at(CLOCK_REALTIME, 50000000);

	SAY("lock", pthread_mutex_lock(m));
	SAY("unlock", pthread_mutex_unlock(m));
	SAY("try", pthread_mutex_trylock(m));
	SAY("unlock", pthread_mutex_unlock(m));
	SAY("timed", pthread_mutex_timedlock(m, &past));
	SAY("unlock", pthread_mutex_unlock(m));
	soon = at(CLOCK_MONOTONIC, 50000000);
	SAY("clock", pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon));
	SAY("unlock", pthread_mutex_unlock(m));
}

/* Only of kinds that don't wait for themselves. */
static void when_mine(pthread_mutex_t *m, const struct kind *k)
{
	struct timespec soon = at(CLOCK_REALTIME, 2000000);

	SAY("lock", pthread_mutex_lock(m));
	SAY("try-mine", pthread_mutex_trylock(m));
	SAY("timed-mine", pthread_mutex_timedlock(m, &soon));
	soon = at(CLOCK_MONOTONIC, 2000000);
	SAY("clock-mine", pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon));
	if (k->type == PTHREAD_MUTEX_RECURSIVE || k->type == PTHREAD_MUTEX_ERRORCHECK)
		SAY("lock-mine", pthread_mutex_lock(m));
	for (int i = 0; i < 5; i++)
		if (i == 0 || k->type == PTHREAD_MUTEX_RECURSIVE ||
		    k->type == PTHREAD_MUTEX_ERRORCHECK)
			SAY("unlock", pthread_mutex_unlock(m));
}

static void when_anothers(pthread_mutex_t *m, const struct kind *k)
{
	struct timespec t = at(CLOCK_REALTIME, 2000000), bad = { 1, -1 };
	pthread_t thread = another_holds(m, FOR_LONG);

	SAY("try-held", pthread_mutex_trylock(m));
	SAY("timed-held", pthread_mutex_timedlock(m, &t));
	t = at(CLOCK_MONOTONIC, 2000000);
	SAY("clock-held", pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &t));
	SAY("bad-time", pthread_mutex_timedlock(m, &bad));
	SAY("bad-clock", pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &t));
	if (k->type == PTHREAD_MUTEX_RECURSIVE || k->type == PTHREAD_MUTEX_ERRORCHECK || k->robust)
		SAY("unlock-held", pthread_mutex_unlock(m));
	let_go(thread);
	thread = another_holds(m, BRIEFLY);
	SAY("lock-held", pthread_mutex_lock(m));
	SAY("unlock", pthread_mutex_unlock(m));
	let_go(thread);
	thread = another_holds(m, BRIEFLY);
	t = at(CLOCK_REALTIME, 900000000);
	SAY("timed-held", pthread_mutex_timedlock(m, &t));
	SAY("unlock", pthread_mutex_unlock(m));
	let_go(thread);
}

/* The owner has died: the next one is told, and may repair it or not. */
static void when_dead(pthread_mutex_t *m)
{
	struct timespec t = at(CLOCK_REALTIME, 900000000);

	let_go(another_holds(m, DIES));
	SAY("lock-dead", pthread_mutex_lock(m));
	SAY("consistent", pthread_mutex_consistent(m));
	SAY("unlock", pthread_mutex_unlock(m));
	let_go(another_holds(m, DIES));
	SAY("try-dead", pthread_mutex_trylock(m));
	SAY("consistent", pthread_mutex_consistent(m));
	SAY("unlock", pthread_mutex_unlock(m));
	let_go(another_holds(m, DIES));
	SAY("timed-dead", pthread_mutex_timedlock(m, &t));
	SAY("unlock", pthread_mutex_unlock(m));
	SAY("lock-lost", pthread_mutex_lock(m));
	SAY("timed-lost", pthread_mutex_timedlock(m, &t));
	SAY("try-lost", pthread_mutex_trylock(m));
}

/* The same where a process dies while the caller already waits. */
static void when_process_dies(pthread_mutex_t *m)
{
	int ready[2];
	char c;
	pid_t pid;

	EXPECT(pipe(ready) == 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		pthread_mutex_lock(m);
		EXPECT(write(ready[1], "", 1) == 1);
		nap(HELD_NS);
		_exit(0);
	}
	EXPECT(read(ready[0], &c, 1) == 1);
	SAY("lock-killed", pthread_mutex_lock(m));
	SAY("consistent", pthread_mutex_consistent(m));
	SAY("unlock", pthread_mutex_unlock(m));
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

static void mutex(const struct kind *k)
{
	pthread_mutex_t *m;

	printf("mutex type %d protocol %d robust %d shared %d:", k->type, k->protocol, k->robust,
	       k->shared);
	m = new_mutex(k);
	when_free(m);
	when_mine(m, k);
	when_anothers(m, k);
	if (k->robust && k->shared)
		when_process_dies(m);
	if (k->robust)
		when_dead(m);
	SAY("destroy", pthread_mutex_destroy(m));
	munmap(m, sizeof(*m));
	printf("\n");
}

static void mutexes(void)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP };
	struct kind k;

	for (int t = 0; t < 4; t++)
		for (int i = 0; i < 8; i++) {
			k = (struct kind){ types[t],
					   i & 1 ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE,
					   i & 2 ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED,
					   i & 4 ? PTHREAD_PROCESS_SHARED
						 : PTHREAD_PROCESS_PRIVATE };
			mutex(&k);
		}
}

/* Priority ceilings need privileges to lock; init and the refusal are the same at least. */
static void ceiling(void)
{
	struct kind k = { PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, 0, 0 };
	pthread_mutex_t *m;
	int err;

	printf("mutex with a ceiling:");
	m = new_mutex(&k);
	SAY("lock", err = pthread_mutex_lock(m));
	if (!err)
		SAY("unlock", pthread_mutex_unlock(m));
	SAY("try", err = pthread_mutex_trylock(m));
	if (!err)
		SAY("unlock", pthread_mutex_unlock(m));
	printf("\n");
}

static void *read_lock(void *arg)
{
	pthread_rwlock_rdlock(arg);
	pthread_barrier_wait(&other.taken);
	pthread_barrier_wait(&other.done);
	pthread_rwlock_unlock(arg);
	return NULL;
}

static void *write_lock(void *arg)
{
	pthread_rwlock_wrlock(arg);
	pthread_barrier_wait(&other.taken);
	pthread_barrier_wait(&other.done);
	pthread_rwlock_unlock(arg);
	return NULL;
}

static void rwlock(int prefer)
{
	struct timespec t, bad = { 1, -1 };
	pthread_rwlockattr_t attr;
	pthread_rwlock_t l;
	pthread_t thread;

	printf("rwlock preferring %d:", prefer);
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, prefer);
	SAY("init", pthread_rwlock_init(&l, &attr));
	SAY("rd", pthread_rwlock_rdlock(&l));
	SAY("rd", pthread_rwlock_rdlock(&l));
	SAY("trywr", pthread_rwlock_trywrlock(&l));
	t = at(CLOCK_REALTIME, 1000000);
	SAY("timedwr", pthread_rwlock_timedwrlock(&l, &t));
	SAY("unlock", pthread_rwlock_unlock(&l));
	SAY("unlock", pthread_rwlock_unlock(&l));
	SAY("wr", pthread_rwlock_wrlock(&l));
	SAY("wr-mine", pthread_rwlock_wrlock(&l));
	SAY("rd-mine", pthread_rwlock_rdlock(&l));
	SAY("tryrd", pthread_rwlock_tryrdlock(&l));
	SAY("unlock", pthread_rwlock_unlock(&l));
	pthread_create(&thread, NULL, read_lock, &l);
	pthread_barrier_wait(&other.taken);
	SAY("rd-read", pthread_rwlock_rdlock(&l));
	SAY("unlock", pthread_rwlock_unlock(&l));
	t = at(CLOCK_MONOTONIC, 1000000);
	SAY("clockwr-read", pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &t));
	SAY("bad-time", pthread_rwlock_timedwrlock(&l, &bad));
	pthread_barrier_wait(&other.done);
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, write_lock, &l);
	pthread_barrier_wait(&other.taken);
	t = at(CLOCK_REALTIME, 1000000);
	SAY("timedrd-written", pthread_rwlock_timedrdlock(&l, &t));
	t = at(CLOCK_MONOTONIC, 1000000);
	SAY("clockrd-written", pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &t));
	pthread_barrier_wait(&other.done);
	SAY("wr-held", pthread_rwlock_wrlock(&l));
	SAY("unlock", pthread_rwlock_unlock(&l));
	pthread_join(thread, NULL);
	printf("\n");
}

static void *post(void *arg)
{
	nap(HELD_NS);
	sem_post(arg);
	return NULL;
}

static void nothing(int sig)
{
	(void)sig;
}

static void *interrupt(void *arg)
{
	nap(HELD_NS);
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

/* With a handler that interrupts: not restarted. */
#define INTERRUPTED(what, call)                                                                    \
	do {                                                                                       \
		pthread_t self_ = pthread_self(), thread_;                                         \
		pthread_create(&thread_, NULL, interrupt, &self_);                                 \
		SAY_ERRNO(what, call);                                                             \
		pthread_join(thread_, NULL);                                                       \
	} while (0)

static void semaphores(void)
{
	struct sigaction act = { .sa_handler = nothing };
	struct timespec t, bad = { 1, -1 };
	pthread_t thread;
	sem_t s;

	sigaction(SIGUSR1, &act, NULL);
	printf("sem:");
	sem_init(&s, 0, 1);
	SAY("wait", sem_wait(&s));
	SAY_ERRNO("try", sem_trywait(&s));
	t = at(CLOCK_REALTIME, 1000000);
	SAY_ERRNO("timed", sem_timedwait(&s, &t));
	t = at(CLOCK_MONOTONIC, 1000000);
	SAY_ERRNO("clock", sem_clockwait(&s, CLOCK_MONOTONIC, &t));
	SAY_ERRNO("bad-time", sem_timedwait(&s, &bad));
	pthread_create(&thread, NULL, post, &s);
	SAY("wait-held", sem_wait(&s));
	pthread_join(thread, NULL);
	INTERRUPTED("wait-signal", sem_wait(&s));
	t = at(CLOCK_REALTIME, 900000000);
	INTERRUPTED("timed-signal", sem_timedwait(&s, &t));
	printf("\n");
}

static void conditions(void)
{
	pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	struct timespec t = at(CLOCK_REALTIME, 1000000), bad = { 1, -1 };
	pthread_condattr_t attr;
	pthread_cond_t c;

	printf("cond:");
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c, &attr);
	SAY("not-mine", pthread_cond_wait(&c, &m));
	SAY("not-mine", pthread_cond_timedwait(&c, &m, &t));
	pthread_mutex_lock(&m);
	/* On its own clock: the time has not come for some decades, on the other it has passed. */
	t = at(CLOCK_MONOTONIC, 1000000);
	SAY("timed", pthread_cond_timedwait(&c, &m, &t));
	t = at(CLOCK_REALTIME, 1000000);
	SAY("clock", pthread_cond_clockwait(&c, &m, CLOCK_REALTIME, &t));
	SAY("bad-time", pthread_cond_timedwait(&c, &m, &bad));
	SAY("mine", pthread_mutex_unlock(&m));
	printf("\n");
}

static int c11_hold(void *m)
{
	mtx_lock(m);
	pthread_barrier_wait(&other.taken);
	pthread_barrier_wait(&other.done);
	mtx_unlock(m);
	return 0;
}

static void c11(void)
{
	struct timespec t = at(CLOCK_REALTIME, 1000000);
	thrd_t thread;
	cnd_t c;
	mtx_t m;

	printf("c11:");
	SAY("init", mtx_init(&m, mtx_timed | mtx_recursive));
	SAY("lock", mtx_lock(&m));
	SAY("lock", mtx_lock(&m));
	SAY("unlock", mtx_unlock(&m));
	SAY("unlock", mtx_unlock(&m));
	SAY("not-mine", mtx_unlock(&m));
	thrd_create(&thread, c11_hold, &m);
	pthread_barrier_wait(&other.taken);
	SAY("timed-held", mtx_timedlock(&m, &t));
	pthread_barrier_wait(&other.done);
	SAY("lock-held", mtx_lock(&m));
	cnd_init(&c);
	t = at(CLOCK_REALTIME, 1000000);
	SAY("cnd", cnd_timedwait(&c, &m, &t));
	SAY("unlock", mtx_unlock(&m));
	thrd_join(thread, NULL);
	printf("\n");
}

static void *meet(void *b)
{
	return (void *)(intptr_t)(pthread_barrier_wait(b) == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void others(void)
{
	struct timespec t = { 0, 1000000 };
	pthread_spinlock_t spin;
	pthread_barrier_t b;
	pthread_t thread;
	uint32_t word = 1;
	void *serial;
	int mine;

	printf("spin, barrier, futex:");
	pthread_spin_init(&spin, 0);
	SAY("lock", pthread_spin_lock(&spin));
	SAY("try", pthread_spin_trylock(&spin));
	SAY("unlock", pthread_spin_unlock(&spin));
	pthread_barrier_init(&b, NULL, 2);
	pthread_create(&thread, NULL, meet, &b);
	mine = pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD;
	pthread_join(thread, &serial);
	printf(" one-of-two=%d", mine + (int)(intptr_t)serial);
	SAY_ERRNO("changed", (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL));
	SAY_ERRNO("timeout", (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &t));
	SAY_ERRNO("bad", (int)syscall(SYS_futex, (char *)&word + 1, FUTEX_WAIT, 1, &t));
	SAY_ERRNO("wake", (int)syscall(SYS_futex, &word, FUTEX_WAKE, 1));
	INTERRUPTED("signal", (int)syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL));
	printf("\n");
}

int main(void)
{
	pthread_barrier_init(&other.taken, NULL, 2);
	pthread_barrier_init(&other.done, NULL, 2);
	mutexes();
	ceiling();
	rwlock(PTHREAD_RWLOCK_PREFER_READER_NP);
	rwlock(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	semaphores();
	conditions();
	c11();
	others();
	HOST_END();
}
