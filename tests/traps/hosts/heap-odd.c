/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates at odd times, places and sizes. Prints the allocator's answers, for a comparison with
 * and without the profiler.
 *
 *     heap-odd sizes | times | handler | reuse | failing | fork | usable | weights | zeros | plugin
 * FILE
 */
#include <malloc.h>
#include <sys/time.h>

#include "system.h"

#define SITE __attribute__((noinline, noclone))
/* Behind an allocation in a site: it isn't the site's last act, which would be a jump. */
#define STAY __asm__ volatile("" ::: "memory")

static void *volatile keep;

/* Seen by the compiler as any function, so that it keeps every call as it is. */
static void *(*volatile allocate)(size_t) = malloc;
static void *(*volatile zeros)(size_t, size_t) = calloc;
static void *(*volatile resize)(void *, size_t) = realloc;
static void *(*volatile resize_array)(void *, size_t, size_t) = reallocarray;
static void *(*volatile by_alignment)(size_t, size_t) = aligned_alloc;
static void *(*volatile old_way)(size_t, size_t) = memalign;
static int (*volatile posix)(void **, size_t, size_t) = posix_memalign;

static void answer(const char *what, size_t a, size_t b, void *p, size_t alignment)
{
	int err = errno;

	printf("%s(%zx, %zx): %s, errno %d, aligned %d\n", what, a, b, p ? "memory" : "none", err,
	       (uintptr_t)p % (alignment ? alignment : 1) == 0);
	free(p);
	errno = 0;
}

static int sizes(void)
{
	static const size_t all[] = { 0,
				      1,
				      1039,
				      1040,
				      131071,
				      131072,
				      200 << 20,
				      PTRDIFF_MAX,
				      (size_t)PTRDIFF_MAX + 1,
				      SIZE_MAX - 4096,
				      SIZE_MAX };
	static const size_t alignments[] = { 0, 1, 3, 8, 16, 48, 4096, 8192, 1 << 30, SIZE_MAX };
	void *p;

	errno = 0;
	/* Products that are small again, and large enough for a sample to be among them. */
	for (int i = 0; i < 40; i++)
		answer("calloc", (SIZE_MAX >> 4) + 7001, 16, zeros((SIZE_MAX >> 4) + 7001, 16), 16);
	answer("reallocarray", (SIZE_MAX >> 1) + 1, 2, resize_array(NULL, (SIZE_MAX >> 1) + 1, 2),
	       16);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		size_t n = all[i];

		answer("malloc", n, 0, allocate(n), 16);
		answer("calloc", n, 1, zeros(n, 1), 16);
		answer("calloc", 3, n, zeros(3, n), 16);
		answer("realloc", 0, n, resize(NULL, n), 16);
		answer("reallocarray", n, 16, resize_array(NULL, n, 16), 16);
		p = allocate(100);
		keep = resize(p, n);
		answer("realloc", 100, n, keep, 16);
		if (!keep && n)
			free(p);
		for (size_t a = 0; a < sizeof(alignments) / sizeof(*alignments); a++) {
			int err;

			/* glibc answers a few of these by going round its heap for an hour. */
			if (alignments[a] > 1 << 30 && n > 1 << 20)
				continue;
			p = NULL;
			err = posix(&p, alignments[a], n);
			printf("posix_memalign %d: ", err);
			answer("posix_memalign", alignments[a], n, p, alignments[a]);
			if (alignments[a] & (alignments[a] - 1))
				continue;
			answer("aligned_alloc", alignments[a], n, by_alignment(alignments[a], n),
			       alignments[a]);
			answer("memalign", alignments[a], n, old_way(alignments[a], n),
			       alignments[a]);
		}
	}
	return 0;
}

static size_t written(char *p, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++)
		n += p[i] != 0;
	memset(p, 0xa5, size);
	/* Not in vain, though it is freed. */
	__asm__ volatile("" : : "r"(p) : "memory");
	return n;
}

/* To the very end that the program is told of. */
static void ends_zero(void)
{
	size_t n = 0;

	for (size_t i = 0; i < 200000; i++) {
		char *p = zeros(1, 1 + i % 1500);

		n += written(p, malloc_usable_size(p));
		free(p);
	}
	printf("%zu are not 0 in the whole\n", n);
}

/* Of memory that was written to before: a size comes again. */
static int all_zero(void)
{
	for (size_t size = 1000; size < 3000000; size += size / 9) {
		size_t n = 0;

		for (int i = 0; i < 3; i++) {
			char *p = zeros(size / 8, 8);

			n += written(p, size / 8 * 8);
			free(p);
		}
		printf("%zu: %zu are not 0\n", size, n);
	}
	ends_zero();
	return 0;
}

static SITE void *site_before(void)
{
	return keep = allocate(1000);
}

static void *early;

__attribute__((constructor(101))) static void before_main(void)
{
	early = site_before();
	early = resize(early, 5000);
}

static pthread_key_t key;

static SITE void destroy(void *p)
{
	/* Another round, and another. */
	free(p);
	keep = allocate(3000);
	pthread_setspecific(key, keep);
}

static void *has_destructor(void *arg)
{
	pthread_setspecific(key, allocate(2000));
	return arg;
}

static SITE void at_fork(void)
{
	free(allocate(700));
}

static void at_end(void)
{
	for (int i = 0; i < 1000; i++)
		free(allocate(600));
}

__attribute__((destructor(101))) static void after_all(void)
{
	for (int i = 0; i < 1000; i++)
		free(allocate(500));
	free(early);
}

static int times(void)
{
	pthread_t t;

	atexit(at_end);
	pthread_atfork(at_fork, at_fork, at_fork);
	pthread_key_create(&key, destroy);
	for (int i = 0; i < 50; i++) {
		pthread_create(&t, NULL, has_destructor, NULL);
		pthread_join(t, NULL);
	}
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			free(early);
			keep = allocate(100);
			_exit(3);
		}
		waitpid(pid, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 3)
			return 1;
	}
	printf("done\n");
	return 0;
}

static volatile sig_atomic_t handled;
static void *volatile mailbox;

/* Not allowed, and done: it can't come while main is in the allocator, which forward keeps. */
static volatile sig_atomic_t in_allocator;

static void on_alarm(int sig)
{
	(void)sig;
	handled++;
	if (in_allocator)
		return;
	free(mailbox);
	mailbox = allocate(900);
}

static int handler(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } };
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	act.sa_handler = on_alarm;
	act.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handled < 500) {
		void *p;

		in_allocator = 1;
		p = allocate(50 + (size_t)handled);
		in_allocator = 0;
		for (volatile int i = 0; i < 100; i++)
			;
		in_allocator = 1;
		free(p);
		in_allocator = 0;
	}
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	free(mailbox);
	printf("done\n");
	return 0;
}

/* The same few addresses go round among threads. */
static void *reuser(void *arg)
{
	for (int i = 0; i < 20000; i++)
		free(__atomic_exchange_n(&mailbox, allocate(2000), __ATOMIC_ACQ_REL));
	return arg;
}

static int reuse(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, reuser, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	free(mailbox);
	printf("done\n");
	return 0;
}

static SITE int site_failing(void)
{
	int bad = 0;

	for (size_t i = 0; i < 1000; i++) {
		char *p = allocate(3000), *q;

		memset(p, 7, 3000);
		bad += resize(p, SIZE_MAX / 2) != NULL || p[2999] != 7;
		q = resize(p, 3001); /* in place, or nearly */
		q = resize(q, 2990);
		bad += q[2989] != 7;
		keep = resize(q, 0);
		free(keep);
	}
	return bad;
}

/* Stays where it is, and in use. */
static SITE int site_refused(void)
{
	char *p = allocate(3000);
	int bad = resize(p, SIZE_MAX / 2) != NULL;

	p[2999] = 7;
	keep = p;
	return bad;
}

static int failing(void)
{
	for (int i = 0; i < 10; i++)
		if (site_refused())
			return 1;
	printf("%d\n", site_failing());
	return 0;
}

static SITE void *site_parents(size_t n)
{
	void *p = allocate(n);

	STAY;
	return p;
}

/* The child frees what the parent allocated, and keeps some of its own. */
static SITE int forked(void)
{
	static void *blocks[2000];
	int status = 0;

	for (size_t i = 0; i < 2000; i++)
		blocks[i] = site_parents(1000 + i);
	if (!fork()) {
		for (size_t i = 0; i < 2000; i++) {
			free(blocks[i]);
			blocks[i] = i < 10 ? zeros(1, 3000) : NULL;
		}
		exit(4);
	}
	wait(&status);
	printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return 0;
}

/* As redis does with its strings: give back what is too much. */
static SITE void *site_trimmed(size_t n)
{
	void *p = allocate(n);

	return malloc_usable_size(p) > n + n / 5 ? resize(p, n) : p;
}

static int usable(void)
{
	size_t least = SIZE_MAX, most = 0;

	for (int i = 0; i < 200000; i++) {
		void *p = allocate(1500);
		size_t n = malloc_usable_size(p);

		least = n < least ? n : least;
		most = n > most ? n : most;
		free(p);
	}
	printf("blocks of 1500 bytes have %zu to %zu\n", least, most);
	for (int i = 0; i < 400000; i++) {
		void *p = site_trimmed(500);

		memset(p, 1, malloc_usable_size(p));
	}
	return 0;
}

static SITE void *site_tiny(void)
{
	void *p = allocate(16);

	STAY;
	return p;
}

static SITE void *site_large(void)
{
	void *p = allocate(1 << 20);

	STAY;
	return p;
}

static int weights(void)
{
	for (int i = 0; i < (200 << 20) / 16; i++)
		free(site_tiny());
	for (int i = 0; i < 200; i++)
		free(site_large());
	return 0;
}

static SITE int plugin(const char *file)
{
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	int (*run)(void);
	void *f;

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	f = dlsym(handle, "plugin_run");
	memcpy(&run, &f, sizeof(f));
	printf("%d\n", run());
	dlclose(handle);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} all[] = { { "sizes", sizes },	  { "times", times },	  { "handler", handler },
		    { "reuse", reuse },	  { "fork", forked },	  { "failing", failing },
		    { "usable", usable }, { "weights", weights }, { "zeros", all_zero } };
	static char buffer[4096];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	for (size_t i = 0; argc > 1 && i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(argv[1], all[i].name))
			return all[i].run();
	return argc > 2 && !strcmp(argv[1], "plugin") ? plugin(argv[2]) : 2;
}
