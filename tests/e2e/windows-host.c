/* SPDX-License-Identifier: BSD-3-Clause */
/* Does something for every mode of the library, on threads that end: at each line of the input,
 * which is answered by "did". At the end of the input the program ends. For control-sums.sh.
 */
#define HOST_BURNS_EXACTLY
#include "host.h"

#define THREADS 3
#define BLOCKS 60

static pthread_mutex_t fought_for = PTHREAD_MUTEX_INITIALIZER;
static sem_t handed_over;
static int ends[2];

/* Blocks of a size that is seldom sampled alone and never stands for a whole object. */
__attribute__((noinline)) static void allocate(unsigned seed)
{
	static __thread void *kept[BLOCKS];

	for (unsigned i = 0; i < BLOCKS; i++) {
		free(kept[i]);
		kept[i] = malloc(150000 + 1000 * (seed + i));
		EXPECT(kept[i]);
		memset(kept[i], 1, 5000);
	}
	for (unsigned i = 0; i < BLOCKS; i += 2) {
		free(kept[i]);
		kept[i] = NULL;
	}
}

/* Small blocks, so that pages are partly used. */
__attribute__((noinline)) static void scatter(void)
{
	static __thread void *blocks[4000];

	for (unsigned i = 0; i < 4000; i++)
		blocks[i] = malloc(600);
	for (unsigned i = 0; i < 4000; i++)
		if (i % 8)
			free(blocks[i]);
}

__attribute__((noinline)) static void map(void)
{
	char *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(p != MAP_FAILED);
	*p = 1;
	EXPECT(!munmap(p, 1 << 15));
}

__attribute__((noinline)) static void contend(void)
{
	const struct timespec held = { .tv_nsec = 1000000 };

	for (int i = 0; i < 4; i++) {
		EXPECT(!pthread_mutex_lock(&fought_for));
		nanosleep(&held, NULL);
		EXPECT(!pthread_mutex_unlock(&fought_for));
		EXPECT(!sem_post(&handed_over));
		while (sem_wait(&handed_over))
			;
	}
}

__attribute__((noinline)) static void transfer(void)
{
	char text[100] = "";
	int null = open("/dev/null", O_WRONLY);

	for (int i = 0; i < 50; i++) {
		EXPECT(write(null, text, sizeof(text)) == sizeof(text));
		EXPECT(open("/no such file", O_RDONLY) < 0);
	}
	close(null);
	EXPECT(write(ends[1], text, 1) == 1);
}

static void *work(void *number)
{
	pthread_setname_np(pthread_self(), "worker");
	burn(0.02);
	allocate((unsigned)(size_t)number);
	scatter();
	map();
	contend();
	transfer();
	return NULL;
}

/* Waits for what the workers write. */
static void *await(void *unused)
{
	char byte;

	(void)unused;
	pthread_setname_np(pthread_self(), "worker");
	for (int i = 0; i < THREADS; i++)
		EXPECT(read(ends[0], &byte, 1) == 1);
	return NULL;
}

static void round_of_work(void)
{
	pthread_t t[THREADS + 1];
	int child = fork();

	if (!child) {
		allocate(7);
		burn(0.005);
		_exit(0);
	}
	EXPECT(!pthread_create(&t[THREADS], NULL, await, NULL));
	for (int i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&t[i], NULL, work, (void *)(size_t)i));
	for (int i = 0; i <= THREADS; i++)
		EXPECT(!pthread_join(t[i], NULL));
	EXPECT(waitpid(child, NULL, 0) == child);
}

int main(void)
{
	char line;

	EXPECT(!pipe(ends));
	EXPECT(!sem_init(&handed_over, 0, 0));
	for (;;) {
		ssize_t n = read(0, &line, 1);

		if (n <= 0)
			break;
		round_of_work();
		EXPECT(write(1, "did\n", 4) == 4);
	}
	HOST_END();
}
