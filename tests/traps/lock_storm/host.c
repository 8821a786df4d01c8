/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that lock, wait and let go, while signals come whose handlers do the same or jump out of
 * a wait, threads come and go, others fork. It must come to its end, with every lock free.
 *
 *   lock-storm SECONDS [toggles]     0: until the input ends; first SIGUSR2 twice
 */
#include <linux/futex.h>
#include <setjmp.h>

#include "host.h"

#define LOCKS 5
#define WORKERS 4

static pthread_mutex_t mutex[LOCKS];
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t monitor = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER; /* main has it */
static sem_t sem;
static uint32_t word;
static volatile int stop;
static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t may_jump;
static pthread_t workers[WORKERS];

static struct timespec soon(long ns)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += ns;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

/* sem_post and futex are what a handler may do; a semaphore that is waited for isn't held. */
static void on_signal(int sig)
{
	int saved = errno;
	struct timespec t = { 0, 20000 };

	(void)sig;
	sem_post(&sem);
	sem_wait(&sem);
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t);
	errno = saved;
	if (may_jump)
		siglongjmp(back, 1);
}

static void kinds(unsigned n)
{
	pthread_mutex_t *m = &mutex[n % LOCKS];
	struct timespec t = soon(50000);
	int err = n % 3 ? pthread_mutex_lock(m) : pthread_mutex_timedlock(m, &t);

	EXPECT(err == 0 || err == ETIMEDOUT);
	if (!err)
		EXPECT(pthread_mutex_unlock(m) == 0);
	if (n % 2)
		pthread_rwlock_rdlock(&rwlock);
	else
		pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	pthread_mutex_lock(&monitor);
	t = soon(20000);
	err = pthread_cond_timedwait(&cond, &monitor, &t);
	EXPECT(err == 0 || err == ETIMEDOUT);
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&monitor);
}

/* Out of a wait that only a signal ends. It is for a mutex: a jump out of a semaphore's wait leaves
 * a clean-up to musl, which the thread runs when it ends. */
static void jump_out(void)
{
	struct timespec t = soon(300000);

	if (!sigsetjmp(back, 1)) {
		may_jump = 1;
		pthread_mutex_timedlock(&never, &t);
	}
	may_jump = 0;
}

static void *work(void *arg)
{
	for (unsigned n = (unsigned)(intptr_t)arg; !stop; n++) {
		kinds(n);
		if (n % 4 == 0)
			jump_out();
	}
	return NULL;
}

static void *brief(void *arg)
{
	kinds((unsigned)(intptr_t)arg);
	return NULL;
}

static void *come_and_go(void *arg)
{
	pthread_t t[4];

	for (intptr_t n = 0; !stop; n++) {
		for (int i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, brief, (void *)(n + i));
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	}
	return arg;
}

static void *fork_on(void *arg)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	int status;

	while (!stop) {
		pid_t pid = fork();

		if (!pid) {
			pthread_mutex_lock(&own);
			pthread_mutex_unlock(&own);
			_exit(7);
		}
		EXPECT(waitpid(pid, &status, 0) == pid);
		EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	}
	return arg;
}

static void *send_signals(void *arg)
{
	struct timespec t = { 0, 100000 };

	for (unsigned n = 0; !stop; n++) {
		pthread_kill(workers[n % WORKERS], SIGUSR1);
		nanosleep(&t, NULL);
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	double end = seconds > 0 ? host_clock(CLOCK_MONOTONIC) + seconds : 0;
	struct timespec t = { 0, 10000000 };
	pthread_t others[3];

	sigaction(SIGUSR1, &act, NULL);
	for (int i = 0; argc > 2 && i < 2; i++) {
		raise(SIGUSR2);
		usleep(50000);
	}
	sem_init(&sem, 0, 0);
	pthread_mutex_lock(&never);
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&mutex[i], NULL);
	for (intptr_t i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, work, (void *)i);
	pthread_create(&others[0], NULL, send_signals, NULL);
	pthread_create(&others[1], NULL, come_and_go, NULL);
	pthread_create(&others[2], NULL, fork_on, NULL);
	while (host_goes_on(CLOCK_MONOTONIC, end))
		nanosleep(&t, NULL);
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(others[i], NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	for (int i = 0; i < LOCKS; i++)
		EXPECT(pthread_mutex_trylock(&mutex[i]) == 0);
	EXPECT(pthread_rwlock_trywrlock(&rwlock) == 0);
	printf("all locks are free\n");
	HOST_END();
}
