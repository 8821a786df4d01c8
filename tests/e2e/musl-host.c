/* SPDX-License-Identifier: BSD-3-Clause */
/* For musl.sh, which has musl-gcc compile it: what each mode measures, in functions whose names the
 * test looks for. */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone))
#define CHECK(it)                                                                                  \
	do {                                                                                       \
		if (!(it)) {                                                                       \
			fprintf(stderr, "musl-host: %s\n", #it);                                   \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static volatile unsigned long sink;

/* CPU time of the calling thread. */
OWN static void burn(double seconds)
{
	struct timespec t;

	do {
		for (unsigned i = 0; i < 100000; i++)
			sink += i * i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < seconds);
	__asm__ volatile("" ::: "memory");
}

static void *burner(void *unused)
{
	burn(0.4);
	return unused;
}

/* Threads with musl's small stacks, and a child. */
OWN static int work(void)
{
	pthread_t t[2];
	int status;
	pid_t child;

	for (unsigned i = 0; i < 2; i++)
		CHECK(!pthread_create(&t[i], NULL, burner, NULL));
	burn(0.4);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	child = fork();
	if (!child) {
		burn(0.8);
		exit(7);
	}
	CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
	return 0;
}

static volatile size_t huge = (size_t)-1;
static void *volatile kept[4000];
static unsigned blocks;

#define KEEP(name, times, size, call)                                                              \
	OWN static void name(void)                                                                 \
	{                                                                                          \
		for (unsigned i = 0; i < (times); i++) {                                           \
			unsigned char *p = (call);                                                 \
                                                                                                   \
			CHECK(p &&malloc_usable_size(p) >= (size));                                \
			kept[blocks++] = p;                                                        \
		}                                                                                  \
	}

static void *zeroed(size_t n, size_t each)
{
	unsigned char *p = calloc(n, each);

	for (size_t i = 0; i < n * each; i++)
		CHECK(!p[i]);
	memset(p, 255, n * each);
	return p;
}

static void *aligned(size_t alignment, size_t size)
{
	void *p = NULL;

	CHECK(!posix_memalign(&p, alignment, size) && !((unsigned long)p % alignment));
	return p;
}

KEEP(by_malloc, 100, 100, malloc(100))
KEEP(by_calloc, 200, 300, zeroed(3, 100))
KEEP(by_large_calloc, 3, 1 << 20, zeroed(1 << 10, 1 << 10))
KEEP(by_posix_memalign, 50, 200, aligned(64, 200))
KEEP(by_memalign, 25, 200, memalign(128, 200))
KEEP(by_aligned_alloc, 12, 256, aligned_alloc(256, 256))
KEEP(by_valloc, 6, 1000, valloc(1000))
KEEP(by_realloc, 7, 700, realloc(malloc(70), 700))
KEEP(by_strdup, 9, 6, (void *)strdup("words"))

OWN static int allocate(void)
{
	void *p;

	by_malloc();
	by_calloc();
	by_large_calloc();
	by_posix_memalign();
	by_memalign();
	by_aligned_alloc();
	by_valloc();
	by_realloc();
	by_strdup();
	CHECK(posix_memalign(&p, 3, 8));
	CHECK(!calloc(huge, 3));
	for (unsigned i = 0; i < 100; i++)
		free(kept[i]); /* by_malloc's */
	return 0;
}

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, checked;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier, done;
static sem_t sem;
static int said;

static void nap(void)
{
	nanosleep(&(struct timespec){ 0, 60000000 }, NULL);
}

#define HOLDER(name, lock, unlock)                                                                 \
	OWN static void holds_##name(void)                                                         \
	{                                                                                          \
		lock;                                                                              \
		pthread_barrier_wait(&barrier);                                                    \
		nap();                                                                             \
		unlock;                                                                            \
		pthread_barrier_wait(&barrier);                                                    \
	}                                                                                          \
	OWN static void wants_##name(void)                                                         \
	{                                                                                          \
		pthread_barrier_wait(&barrier);                                                    \
		lock;                                                                              \
		unlock;                                                                            \
		pthread_barrier_wait(&barrier);                                                    \
	}
HOLDER(plain, pthread_mutex_lock(&plain), pthread_mutex_unlock(&plain))
HOLDER(checked, pthread_mutex_lock(&checked), pthread_mutex_unlock(&checked))
HOLDER(rwlock, pthread_rwlock_wrlock(&rwlock), pthread_rwlock_unlock(&rwlock))

OWN static void reads_rwlock(void)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_barrier_wait(&barrier);
	nap();
	pthread_rwlock_unlock(&rwlock);
}

OWN static void writes_rwlock(void)
{
	pthread_barrier_wait(&barrier);
	pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

OWN static void signals_cond(void)
{
	nap();
	pthread_mutex_lock(&plain);
	said = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&plain);
}

OWN static void waits_for_cond(void)
{
	pthread_mutex_lock(&plain);
	while (!said)
		pthread_cond_wait(&cond, &plain);
	pthread_mutex_unlock(&plain);
}

OWN static void posts_sem(void)
{
	nap();
	sem_post(&sem);
}

OWN static void waits_for_sem(void)
{
	sem_wait(&sem);
}

OWN static void comes_late(void)
{
	nap();
	pthread_barrier_wait(&done);
}

OWN static void comes_early(void)
{
	pthread_barrier_wait(&done);
}

static void *other_thread(void *unused)
{
	wants_plain();
	wants_checked();
	wants_rwlock();
	writes_rwlock();
	waits_for_cond();
	waits_for_sem();
	comes_early();
	return unused;
}

OWN static int lock(void)
{
	pthread_mutexattr_t kind;
	pthread_t t;

	pthread_mutexattr_init(&kind);
	pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&checked, &kind);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_barrier_init(&done, NULL, 2);
	sem_init(&sem, 0, 0);
	CHECK(!pthread_create(&t, NULL, other_thread, NULL));
	holds_plain();
	holds_checked();
	holds_rwlock();
	reads_rwlock();
	signals_cond();
	posts_sem();
	comes_late();
	pthread_join(t, NULL);
	return 0;
}

/* By the names that programs were linked with before musl 1.2.4. */
extern int old_open(const char *, int, ...) __asm__("open64");
extern ssize_t old_pread(int, void *, size_t, off_t) __asm__("pread64");

OWN static int move(void)
{
	char text[1000] = { 0 };
	int fd = old_open("musl-host.data", O_RDWR | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0);
	for (unsigned i = 0; i < 40; i++)
		CHECK(write(fd, text, sizeof(text)) == sizeof(text));
	for (unsigned i = 0; i < 30; i++)
		CHECK(old_pread(fd, text, sizeof(text), 0) == sizeof(text));
	CHECK(!fsync(fd) && !close(fd) && !unlink("musl-host.data"));
	return 0;
}

OWN static int touch(void)
{
	char *p = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	madvise(p, 64 << 20, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < 64 << 20; i += 4096)
		p[i] = 1;
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int r = 2;

	if (!strcmp(what, "cpu") || !strcmp(what, "wall"))
		r = work();
	if (!strcmp(what, "heap"))
		r = allocate();
	if (!strcmp(what, "lock"))
		r = lock();
	if (!strcmp(what, "io"))
		r = move();
	if (!strcmp(what, "event"))
		r = touch();
	printf("%s: %d\n", what, r);
	return r;
}
