/* SPDX-License-Identifier: BSD-3-Clause */
/* One thread waits, two others wake it: seven times of ten the one, three times the other. For each
 * kind of wait, prints its name and the time in ns that the thread waited for each of the two.
 *
 * usage: lock-wakers-host KIND [ROUNDS]
 */
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <threads.h>

#include "system.h"
#include "clock.h"

#define STEP_NS 2000000

static int rounds = 40;
static int turn; /* of the round that the waiting thread is in, from 1 */
static uint64_t waited[2];

static sem_t sem;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static mtx_t mtx;
static cnd_t cnd;
static pthread_barrier_t barrier;
static int word, ready;
static int ends[2], event;

static bool first_wakes(int round)
{
	return round % 10 < 7;
}

/* A call that fails is not 0. */
#define KIND(name, wait, wake)                                                                     \
	static void wait_##name(void)                                                              \
	{                                                                                          \
		if (wait)                                                                          \
			abort();                                                                   \
	}                                                                                          \
	static void wake_##name(void)                                                              \
	{                                                                                          \
		if (wake)                                                                          \
			abort();                                                                   \
	}

static char byte;
static uint64_t number = 1;

KIND(sem, sem_wait(&sem), sem_post(&sem))
KIND(pipe, read(ends[0], &byte, 1) != 1, write(ends[1], "", 1) != 1)
KIND(pipe_by_number, syscall(SYS_read, ends[0], &byte, 1) != 1,
     syscall(SYS_write, ends[1], "", 1) != 1)
KIND(eventfd, read(event, &number, 8) != 8, write(event, &number, 8) != 8)

#define KIND_OF_COND(name, cond, mutex, api, wait_for, wake_by)                                    \
	static void wait_##name(void)                                                              \
	{                                                                                          \
		api##_lock(&mutex);                                                                \
		while (!ready)                                                                     \
			wait_for(&cond, &mutex);                                                   \
		ready = 0;                                                                         \
		api##_unlock(&mutex);                                                              \
	}                                                                                          \
	static void wake_##name(void)                                                              \
	{                                                                                          \
		api##_lock(&mutex);                                                                \
		ready = 1;                                                                         \
		api##_unlock(&mutex);                                                              \
		wake_by(&cond);                                                                    \
	}

KIND_OF_COND(cond, cond, mutex, pthread_mutex, pthread_cond_wait, pthread_cond_signal)
KIND_OF_COND(broadcast, cond, mutex, pthread_mutex, pthread_cond_wait, pthread_cond_broadcast)
KIND_OF_COND(cnd, cnd, mtx, mtx, cnd_wait, cnd_signal)

static void wait_barrier(void)
{
	pthread_barrier_wait(&barrier);
}

static void wait_futex(void)
{
	while (!__atomic_exchange_n(&word, 0, __ATOMIC_ACQ_REL))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void wake_futex(void)
{
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static const struct kind {
	const char *name;
	void (*wait)(void), (*wake)(void);
} kinds[] = {
	{ "sem", wait_sem, wake_sem },
	{ "cond", wait_cond, wake_cond },
	{ "broadcast", wait_broadcast, wake_broadcast },
	{ "cnd", wait_cnd, wake_cnd },
	{ "barrier", wait_barrier, wait_barrier },
	{ "futex", wait_futex, wake_futex },
	{ "pipe", wait_pipe, wake_pipe },
	{ "eventfd", wait_eventfd, wake_eventfd },
	{ "number", wait_pipe_by_number, wake_pipe_by_number },
};
static const struct kind *kind;

NOINLINE static void consume(void)
{
	for (int i = 1; i <= rounds; i++) {
		uint64_t began = now_ns();

		__atomic_store_n(&turn, i, __ATOMIC_RELEASE);
		kind->wait();
		waited[!first_wakes(i)] += now_ns() - began;
	}
	__atomic_store_n(&turn, rounds + 1, __ATOMIC_RELEASE);
}

/* Wakes the waiting thread in the rounds that are this thread's. */
static void produce(bool first)
{
	int done = 0, i;

	while ((i = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) <= rounds) {
		nap(i != done && i && first_wakes(i) == first ? STEP_NS : STEP_NS / 10);
		if (i == done || !i || first_wakes(i) != first)
			continue;
		done = i;
		kind->wake();
		__asm__ volatile(""); /* no tail call */
	}
}

NOINLINE static void *producer_a(void *arg)
{
	produce(true);
	return arg;
}

NOINLINE static void *producer_b(void *arg)
{
	produce(false);
	return arg;
}

NOINLINE static void *worker_a(void *arg)
{
	nap(STEP_NS);
	return arg;
}

NOINLINE static void *worker_b(void *arg)
{
	nap(STEP_NS);
	return arg;
}

NOINLINE static void join_workers(void)
{
	for (int i = 1; i <= rounds; i++) {
		pthread_t t;
		uint64_t began;

		pthread_create(&t, NULL, first_wakes(i) ? worker_a : worker_b, NULL);
		began = now_ns();
		pthread_join(t, NULL);
		waited[!first_wakes(i)] += now_ns() - began;
	}
}

NOINLINE static void wait_in_vain(void)
{
	struct timespec t;

	for (int i = 0; i < rounds; i++) {
		uint64_t began = now_ns();

		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += STEP_NS;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		sem_timedwait(&sem, &t);
		waited[0] += now_ns() - began;
	}
}

/* Another process posts. */
NOINLINE static void wait_for_process(void)
{
	sem_t *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	sem_init(shared, 1, 0);
	child = fork();
	for (int i = 0; i < rounds; i++) {
		uint64_t began = now_ns();

		if (!child) {
			nap(STEP_NS);
			sem_post(shared);
			continue;
		}
		sem_wait(shared);
		waited[0] += now_ns() - began;
	}
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

/* Opens the pipe with the numbers of two descriptors that were of two other pipes. */
static void open_pipe(void)
{
	int other[2][2];

	for (int i = 0; i < 2; i++)
		if (pipe(other[i]))
			abort();
	for (int i = 0; i < 2; i++)
		if (write(other[i][1], "", 1) != 1 || read(other[i][0], &byte, 1) != 1)
			abort();
	close(other[0][0]);
	close(other[1][0]);
	if (pipe(ends) || ends[0] != other[0][0] || ends[1] != other[1][0])
		abort();
	/* The profiler asks what they are now before it looks for their pipe. */
	fsync(ends[0]);
	fsync(ends[1]);
}

static void run_pair(void)
{
	pthread_t a, b;

	sem_init(&sem, 0, 0);
	mtx_init(&mtx, mtx_plain);
	cnd_init(&cnd);
	pthread_barrier_init(&barrier, NULL, 2);
	event = eventfd(0, 0);
	open_pipe();
	if (event < 0)
		abort();
	pthread_create(&a, NULL, producer_a, NULL);
	pthread_create(&b, NULL, producer_b, NULL);
	consume();
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	rounds = argc > 2 ? atoi(argv[2]) : rounds;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(name, kinds[i].name))
			kind = &kinds[i];
	if (kind)
		run_pair();
	else if (!strcmp(name, "join"))
		join_workers();
	else if (!strcmp(name, "timeout"))
		wait_in_vain();
	else if (!strcmp(name, "process"))
		wait_for_process();
	else
		return fprintf(stderr, "usage: lock-wakers-host KIND [ROUNDS]\n"), 2;
	printf("%s %llu %llu\n", name, (unsigned long long)waited[0],
	       (unsigned long long)waited[1]);
	return 0;
}
