/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that wait for each other in every way that there is, and measure themselves how long.
 *
 *   lock-host               each kind in turn: "KIND ns inner" lines, waits in wait_KIND, unlocks
 *                           in release_KIND; ns are measured around the calls, inner by
 *                           lock-inner.c within them, 0 where that is not preloaded
 *   lock-host long          the first kind only, with threads that live for a second and more
 *   lock-host holders       one mutex that slow_holder keeps for long and quick_holder only
 *                           shortly: ns that others waited while the one and the other had it, and
 *                           in all
 *   lock-host rare          one mutex that all keep shortly and often, and rare_holder for long, a
 *                           few times: ns of the waits that it was part of, and while it had it
 *   lock-host turns         two threads that take 1,400 turns of a few us, by a condition: the
 *                           number of waits, ns, and inner
 */
#include <linux/futex.h>
#include <threads.h>

#include "system.h"
#include "clock.h"
#include "mutex_word.h"

#define THREADS 8
#define HOLD_NS 1000000

/* Far enough in the future. */
static const struct timespec *later(clockid_t clock, struct timespec *t)
{
	clock_gettime(clock, t);
	t->tv_sec += 60;
	return t;
}

pthread_mutex_t host_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
	int before;
	pthread_mutex_t lock;
} host_struct = { 0, PTHREAD_MUTEX_INITIALIZER };
static pthread_mutex_t monitor = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t host_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t host_cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t host_barrier;
static pthread_spinlock_t host_spin;
static sem_t host_sem;
static mtx_t host_mtx;
static cnd_t host_cnd;
static uint32_t host_word;
static int busy;
static __thread int turn;

/* Everyone reads and writes in turns. */
#define READS(i) (((i) + turn) & 1)

#define KIND(name, wait, release)                                                                  \
	NOINLINE static void wait_##name(int i)                                                    \
	{                                                                                          \
		struct timespec t;                                                                 \
		(void)i;                                                                           \
		(void)t;                                                                           \
		wait;                                                                              \
		STAYS;                                                                             \
	}                                                                                          \
	NOINLINE static void release_##name(void)                                                  \
	{                                                                                          \
		release;                                                                           \
		STAYS;                                                                             \
	}

KIND(mutex, pthread_mutex_lock(&host_mutex), pthread_mutex_unlock(&host_mutex))
KIND(timed, pthread_mutex_timedlock(&host_struct.lock, later(CLOCK_REALTIME, &t)),
     pthread_mutex_unlock(&host_struct.lock))
KIND(clocked, pthread_mutex_clocklock(&host_mutex, CLOCK_MONOTONIC, later(CLOCK_MONOTONIC, &t)),
     pthread_mutex_unlock(&host_mutex))
KIND(mtx, mtx_lock(&host_mtx), mtx_unlock(&host_mtx))
KIND(mtx_timed, mtx_timedlock(&host_mtx, later(CLOCK_REALTIME, &t)), mtx_unlock(&host_mtx))
KIND(rwlock, READS(i) ? pthread_rwlock_rdlock(&host_rwlock) : pthread_rwlock_wrlock(&host_rwlock),
     pthread_rwlock_unlock(&host_rwlock))
KIND(rwlock_timed,
     READS(i) ? pthread_rwlock_timedrdlock(&host_rwlock, later(CLOCK_REALTIME, &t))
	      : pthread_rwlock_timedwrlock(&host_rwlock, later(CLOCK_REALTIME, &t)),
     pthread_rwlock_unlock(&host_rwlock))
KIND(rwlock_clocked,
     READS(i)
	     ? pthread_rwlock_clockrdlock(&host_rwlock, CLOCK_MONOTONIC, later(CLOCK_MONOTONIC, &t))
	     : pthread_rwlock_clockwrlock(&host_rwlock, CLOCK_MONOTONIC,
					  later(CLOCK_MONOTONIC, &t)),
     pthread_rwlock_unlock(&host_rwlock))
KIND(spin, pthread_spin_lock(&host_spin), pthread_spin_unlock(&host_spin))
KIND(sem, sem_wait(&host_sem), sem_post(&host_sem))
KIND(sem_timed, sem_timedwait(&host_sem, later(CLOCK_REALTIME, &t)), sem_post(&host_sem))
KIND(sem_clocked, sem_clockwait(&host_sem, CLOCK_MONOTONIC, later(CLOCK_MONOTONIC, &t)),
     sem_post(&host_sem))

/* A lock made of a condition. */
#define MONITOR(lock, unlock, wait)                                                                \
	lock(&MONITOR_MUTEX);                                                                      \
	while (busy)                                                                               \
		wait;                                                                              \
	busy = 1;                                                                                  \
	unlock(&MONITOR_MUTEX)
#define LEAVE(lock, unlock, signal)                                                                \
	lock(&MONITOR_MUTEX);                                                                      \
	busy = 0;                                                                                  \
	signal;                                                                                    \
	unlock(&MONITOR_MUTEX)

#define MONITOR_MUTEX monitor
KIND(cond,
     MONITOR(pthread_mutex_lock, pthread_mutex_unlock, pthread_cond_wait(&host_cond, &monitor)),
     LEAVE(pthread_mutex_lock, pthread_mutex_unlock, pthread_cond_signal(&host_cond)))
KIND(cond_timed,
     MONITOR(pthread_mutex_lock, pthread_mutex_unlock,
	     pthread_cond_timedwait(&host_cond, &monitor, later(CLOCK_REALTIME, &t))),
     LEAVE(pthread_mutex_lock, pthread_mutex_unlock, pthread_cond_signal(&host_cond)))
KIND(cond_clocked,
     MONITOR(pthread_mutex_lock, pthread_mutex_unlock,
	     pthread_cond_clockwait(&host_cond, &monitor, CLOCK_MONOTONIC,
				    later(CLOCK_MONOTONIC, &t))),
     LEAVE(pthread_mutex_lock, pthread_mutex_unlock, pthread_cond_signal(&host_cond)))
#undef MONITOR_MUTEX
#define MONITOR_MUTEX host_mtx
KIND(cnd, MONITOR(mtx_lock, mtx_unlock, cnd_wait(&host_cnd, &host_mtx)),
     LEAVE(mtx_lock, mtx_unlock, cnd_signal(&host_cnd)))
KIND(cnd_timed,
     MONITOR(mtx_lock, mtx_unlock, cnd_timedwait(&host_cnd, &host_mtx, later(CLOCK_REALTIME, &t))),
     LEAVE(mtx_lock, mtx_unlock, cnd_signal(&host_cnd)))

/* 0 free, 1 taken, 2 taken and waited for. */
NOINLINE static void word_lock(int op)
{
	while (__atomic_exchange_n(&host_word, 2, __ATOMIC_ACQUIRE) != 0)
		syscall(SYS_futex, &host_word, op, 2, NULL, NULL, ~0u);
}

static void word_unlock(void)
{
	__atomic_store_n(&host_word, 0, __ATOMIC_RELEASE);
	syscall(SYS_futex, &host_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

KIND(futex, word_lock(i & 1 ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT_BITSET_PRIVATE), word_unlock())

/* One comes late, the others wait for it. It slept; it didn't wait. */
static __thread uint64_t slept_ns;
NOINLINE static void wait_barrier(int i)
{
	uint64_t began = now_ns();

	if (turn % THREADS == i)
		nap(4 * HOLD_NS);
	slept_ns = now_ns() - began;
	pthread_barrier_wait(&host_barrier);
	STAYS;
}

static void release_barrier(void)
{
}

static const struct kind {
	const char *name;
	void (*wait)(int i);
	void (*release)(void);
	int turns;
} kinds[] = {
#define K(name, turns)                                                                             \
	{                                                                                          \
#name, wait_##name, release_##name, turns                                          \
	}
	K(mutex, 25),	  K(timed, 10),	     K(clocked, 10),	  K(mtx, 10),
	K(mtx_timed, 10), K(rwlock, 20),     K(rwlock_timed, 10), K(rwlock_clocked, 10),
	K(spin, 4),	  K(sem, 15),	     K(sem_timed, 10),	  K(sem_clocked, 10),
	K(cond, 15),	  K(cond_timed, 10), K(cond_clocked, 10), K(cnd, 10),
	K(cnd_timed, 10), K(futex, 15),	     K(barrier, 16),
};

static const struct kind *kind;
static uint64_t waited_ns[THREADS], inner_ns[THREADS];

uint64_t lock_inner_ns(void) __attribute__((weak));

static uint64_t inner_now(void)
{
	return lock_inner_ns ? lock_inner_ns() : 0;
}

static int held, ready; /* it is, and so many others want it */

/* Somebody waits in every kind, readers too, however late the threads begin on a busy machine: the
 * first has it, to write, until all others come for it. */
static void come_together(int i)
{
	if (kind->release == release_barrier)
		return;
	if (i) {
		while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
			nap(HOLD_NS / 10);
		__atomic_add_fetch(&ready, 1, __ATOMIC_RELEASE);
		return;
	}
	kind->wait(i);
	__atomic_store_n(&held, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < THREADS - 1)
		nap(HOLD_NS / 10);
	nap(HOLD_NS);
	kind->release();
}

static void *work(void *arg)
{
	int i = (int)(intptr_t)arg;

	come_together(i);
	for (turn = 0; turn < kind->turns; turn++) {
		uint64_t inner = inner_now(), began = now_ns();

		kind->wait(i);
		waited_ns[i] += now_ns() - began - slept_ns;
		inner_ns[i] += inner_now() - inner;
		if (kind->release != release_barrier)
			nap(HOLD_NS);
		kind->release();
	}
	return NULL;
}

static void run(void *(*each)(void *))
{
	pthread_t threads[THREADS];

	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, each, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void run_kind(const struct kind *k)
{
	uint64_t all = 0, inner = 0;

	kind = k;
	held = ready = 0;
	memset(waited_ns, 0, sizeof(waited_ns));
	memset(inner_ns, 0, sizeof(inner_ns));
	run(work);
	for (int i = 0; i < THREADS; i++) {
		all += waited_ns[i];
		inner += inner_ns[i];
	}
	printf("%s %llu %llu\n", kind->name, (unsigned long long)all, (unsigned long long)inner);
}

static void run_all(void)
{
	pthread_barrier_init(&host_barrier, NULL, THREADS);
	pthread_spin_init(&host_spin, 0);
	sem_init(&host_sem, 0, 1);
	mtx_init(&host_mtx, mtx_timed);
	cnd_init(&host_cnd);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		run_kind(&kinds[k]);
}

static void run_long(void)
{
	struct kind k = kinds[0];

	k.turns = 200;
	run_kind(&k);
}

#define TURNS 1400

static int whose;
static uint64_t turn_waits, turn_ns, turn_inner;

NOINLINE static void wait_turn(void)
{
	uint64_t inner = inner_now(), began = now_ns();

	pthread_cond_wait(&host_cond, &host_mutex);
	turn_ns += now_ns() - began;
	turn_inner += inner_now() - inner;
	turn_waits++;
	STAYS;
}

static void *take_turns(void *arg)
{
	int me = (int)(intptr_t)arg;

	pthread_mutex_lock(&host_mutex);
	for (int i = 0; i < TURNS / 2; i++) {
		while (whose != me)
			wait_turn();
		whose = !me;
		pthread_cond_signal(&host_cond);
	}
	pthread_mutex_unlock(&host_mutex);
	return NULL;
}

static void run_turns(void)
{
	pthread_t other;

	pthread_create(&other, NULL, take_turns, (void *)1);
	take_turns(NULL);
	pthread_join(other, NULL);
	printf("%llu %llu %llu\n", (unsigned long long)turn_waits, (unsigned long long)turn_ns,
	       (unsigned long long)turn_inner);
}

#define HOLDS 300

/* When a thread wanted the mutex, got it, and was about to give it back. */
static struct hold {
	uint64_t wanted, had, gave;
} holds[THREADS][HOLDS];

NOINLINE static void slow_holder(struct hold *h)
{
	h->wanted = now_ns();
	pthread_mutex_lock(&host_mutex);
	h->had = now_ns();
	nap(8 * HOLD_NS);
	h->gave = now_ns();
	pthread_mutex_unlock(&host_mutex);
	STAYS;
}

NOINLINE static void quick_holder(struct hold *h)
{
	h->wanted = now_ns();
	pthread_mutex_lock(&host_mutex);
	h->had = now_ns();
	h->gave = now_ns();
	pthread_mutex_unlock(&host_mutex);
	STAYS;
	nap(HOLD_NS);
}

static void *hold(void *arg)
{
	struct hold *h = holds[(intptr_t)arg];

	for (int n = 0; n < HOLDS; n++) {
		if (arg)
			quick_holder(&h[n]);
		else if (n % 5 == 0)
			slow_holder(&h[n]), nap(HOLD_NS / 2);
	}
	return NULL;
}

/* How long W waited while H had it. */
static uint64_t waited_for(const struct hold *w, const struct hold *h)
{
	uint64_t from = w->wanted > h->had ? w->wanted : h->had;
	uint64_t to = w->had < h->gave ? w->had : h->gave;

	return to > from ? to - from : 0;
}

static void say_who_held(void)
{
	const struct hold *first = &holds[0][0], *others = first + HOLDS,
			  *end = first + THREADS * HOLDS;
	uint64_t slow = 0, quick = 0, all = 0;

	for (const struct hold *w = first; w < end; w++) {
		all += w->had - w->wanted;
		for (const struct hold *h = first; h < end; h++)
			*(h < others ? &slow : &quick) += waited_for(w, h);
	}
	printf("%llu %llu %llu\n", (unsigned long long)slow, (unsigned long long)quick,
	       (unsigned long long)all);
}

#define RARE 10
#define RARE_NS (40 * HOLD_NS)

/* Called by the thread that has the mutex. The time from the unlock until a waiter runs, and the
 * time while the mutex was free, can't be attributed: such waits count whole. */
static struct hold rare;
/* At its unlock the mutex says that somebody waits. It doesn't if a thread that an earlier unlock
 * has woken, and that has yet to say so again, got no processor all the while. Such an unlock lets
 * nobody go, and nobody can tell that there are waiters: the next unlock gets their time. */
static int rare_is_seen;
static uint64_t waited_within, waited_around;
static int rare_done;

static void burn(uint64_t ns)
{
	for (uint64_t until = now_ns() + ns; now_ns() < until;)
		;
}

static void add_rare(uint64_t wanted)
{
	struct hold h = { .wanted = wanted, .had = now_ns() };
	uint64_t within = waited_for(&h, &rare);

	waited_within += rare_is_seen ? within : 0;
	waited_around += within ? h.had - h.wanted : 0;
}

NOINLINE static void rare_holder(void)
{
	pthread_mutex_lock(&host_mutex);
	rare.had = now_ns();
	nap(RARE_NS);
	rare.gave = now_ns();
	rare_is_seen = mutex_is_awaited(&host_mutex);
	pthread_mutex_unlock(&host_mutex);
	STAYS;
}

NOINLINE static void frequent_holder(void)
{
	uint64_t wanted = now_ns();

	pthread_mutex_lock(&host_mutex);
	add_rare(wanted);
	burn(HOLD_NS / 100);
	pthread_mutex_unlock(&host_mutex);
	STAYS;
	burn(HOLD_NS / 100);
}

/* The first half second finds out how many unlocks there are. */
static void *hold_often(void *arg)
{
	uint64_t next = now_ns() + 500 * HOLD_NS;

	for (int n = 0; arg ? !__atomic_load_n(&rare_done, __ATOMIC_ACQUIRE) : n < RARE;) {
		frequent_holder();
		if (arg || now_ns() < next)
			continue;
		rare_holder();
		next = now_ns() + 50 * HOLD_NS;
		n++;
	}
	__atomic_store_n(&rare_done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void say_rare(void)
{
	printf("%llu %llu\n", (unsigned long long)waited_around, (unsigned long long)waited_within);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "holders"))
		run(hold), say_who_held();
	else if (argc > 1 && !strcmp(argv[1], "rare"))
		run(hold_often), say_rare();
	else if (argc > 1 && !strcmp(argv[1], "turns"))
		run_turns();
	else if (argc > 1 && !strcmp(argv[1], "long"))
		run_long();
	else
		run_all();
	return 0;
}
