/* SPDX-License-Identifier: BSD-3-Clause */
/* One alternate signal stack for several threads: nobody may write there but the program.
 *
 *   shared-stack shared    main and a thread have the same
 *   shared-stack child     the same in a fork's child, whose main thread has it from before
 *   shared-stack storm     eight threads have it, and compute
 *   shared-stack apart     each has its own, also one that another had before: says on stderr
 *                          whether handlers ran on both
 */
#include "host.h"

#define PAINT 0xa5
#define SIZE ((size_t)65536)
#define THREADS 8

static unsigned char first[SIZE], second[SIZE];
static pthread_barrier_t meeting, leaving;

static void take(unsigned char *stack)
{
	stack_t ss = { .ss_sp = stack, .ss_size = SIZE }, now;

	EXPECT(sigaltstack(&ss, NULL) == 0);
	EXPECT(sigaltstack(NULL, &now) == 0);
	EXPECT(now.ss_sp == stack && now.ss_size == SIZE);
}

static void paint(void)
{
	memset(first, PAINT, SIZE);
	memset(second, PAINT, SIZE);
}

static size_t used(const unsigned char *stack)
{
	size_t clean = 0;

	while (clean < SIZE && stack[clean] == PAINT)
		clean++;
	return SIZE - clean;
}

static void meet(void)
{
	pthread_barrier_wait(&meeting);
}

/* With main, which works on STACK's painted bytes meanwhile. */
static void *work(void *stack)
{
	take(stack);
	meet();
	meet();
	burn(0.15);
	meet();
	return NULL;
}

static void two(unsigned char *stack)
{
	pthread_t t;

	EXPECT(pthread_create(&t, NULL, work, stack) == 0);
	meet();
	paint();
	meet();
	burn(0.15);
	meet();
	pthread_join(t, NULL);
}

static void shared(void)
{
	take(first);
	two(first);
	EXPECT(used(first) == 0);
}

/* The parent's other thread, which has SECOND, isn't in the child. */
static void child(void)
{
	int status = 0;
	pid_t pid;

	take(first);
	pid = fork();
	if (!pid) {
		two(first);
		EXPECT(used(first) == 0);
		fflush(stdout);
		_exit(host_failures != 0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
}

/* A thread whose frame is overwritten continues as another thread, or not at all. */
static void *compute(void *unused)
{
	pthread_t self = pthread_self();
	double end;

	take(first);
	end = host_clock(CLOCK_THREAD_CPUTIME_ID) + 0.25;
	while (host_clock(CLOCK_THREAD_CPUTIME_ID) < end) {
		uint64_t a = (uint64_t)self, b = ~a;

		for (int i = 0; i < 20000; i++) {
			a = a * 6364136223846793005u + 1;
			b = ~((~b) * 6364136223846793005u + 1);
		}
		EXPECT(a == ~b);
		EXPECT(pthread_equal(self, pthread_self()));
	}
	return NULL;
}

static void storm(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		EXPECT(pthread_create(&t[i], NULL, compute, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void *take_and_end(void *stack)
{
	take(stack);
	return NULL;
}

static void *take_and_leave(void *stack)
{
	stack_t none = { .ss_flags = SS_DISABLE };

	take(stack);
	EXPECT(sigaltstack(&none, NULL) == 0);
	pthread_barrier_wait(&leaving);
	pthread_barrier_wait(&leaving);
	return NULL;
}

static void apart(void)
{
	pthread_t t;

	EXPECT(pthread_create(&t, NULL, take_and_end, first) == 0);
	pthread_join(t, NULL);
	take(first);
	/* Not all that has been a thread's is one's now. */
	EXPECT(pthread_create(&t, NULL, take_and_leave, second) == 0);
	pthread_barrier_wait(&leaving);
	two(second);
	fprintf(stderr, "used: %d %d\n", used(first) > 0, used(second) > 0);
	/* The one that has left it is there until now. */
	pthread_barrier_wait(&leaving);
	pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	burn_and_tick(0); /* the loader resolves what burn calls, on its own terms */
	pthread_barrier_init(&meeting, NULL, 2);
	pthread_barrier_init(&leaving, NULL, 2);
	if (!strcmp(argv[1], "shared"))
		shared();
	else if (!strcmp(argv[1], "child"))
		child();
	else if (!strcmp(argv[1], "storm"))
		storm();
	else
		apart();
	puts("done");
	HOST_END();
}
