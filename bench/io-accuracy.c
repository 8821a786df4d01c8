/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs whose calls are known, for bench/accuracy-table.sh: each prints lines "function op calls
 * ns bytes errors" of what its functions did, as the program itself counts and measures it.
 *
 * usage: io-accuracy short|errors|bimodal|sizes|threads|crowd|mixed|pipes
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct sums {
	const char *name, *op;
	uint64_t calls, ns, bytes, errors;
};

static char buffer[1 << 20];
static int null, zero;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Do CALL, and add it to the sums of the calling function. */
#define MEASURED(s, call)                                                                          \
	({                                                                                         \
		uint64_t began_ = now();                                                           \
		ssize_t got_ = (call);                                                             \
		__atomic_fetch_add(&(s)->ns, now() - began_, __ATOMIC_RELAXED);                    \
		__atomic_fetch_add(&(s)->calls, 1, __ATOMIC_RELAXED);                              \
		__atomic_fetch_add(&(s)->errors, got_ < 0, __ATOMIC_RELAXED);                      \
		got_;                                                                              \
	})
/* The same for a call that moves bytes. */
#define MOVED(s, call)                                                                             \
	__atomic_fetch_add(&(s)->bytes, (uint64_t)MEASURED(s, call), __ATOMIC_RELAXED)

#define SUMS 16
static struct sums sums[SUMS];

static struct sums *sums_of(const char *name, const char *op)
{
	struct sums *s = sums;

	while (s->name && (strcmp(s->name, name) != 0 || strcmp(s->op, op) != 0))
		s++;
	s->name = name;
	s->op = op;
	return s;
}

/* One function for each place. */
#define PLACE(name) __attribute__((noinline)) static void name(struct sums *s, uint64_t n)

PLACE(writes_little)
{
	for (uint64_t i = 0; i < n; i++)
		MOVED(s, write(null, buffer, 1 + i % 7));
	__asm__ volatile("" ::: "memory");
}

PLACE(writes_much)
{
	for (uint64_t i = 0; i < n; i++)
		MOVED(s, write(null, buffer, 100000 + i % 1000));
	__asm__ volatile("" ::: "memory");
}

PLACE(reads_little)
{
	for (uint64_t i = 0; i < n; i++)
		MOVED(s, read(zero, buffer, 16));
	__asm__ volatile("" ::: "memory");
}

PLACE(reads_much)
{
	for (uint64_t i = 0; i < n; i++)
		MOVED(s, read(zero, buffer, 4096 << i % 8));
	__asm__ volatile("" ::: "memory");
}

PLACE(finds)
{
	struct stat st;

	for (uint64_t i = 0; i < n; i++)
		MEASURED(s, stat("/", &st));
	__asm__ volatile("" ::: "memory");
}

PLACE(finds_nothing)
{
	struct stat st;

	for (uint64_t i = 0; i < n; i++)
		MEASURED(s, stat("/nonexistent", &st));
	__asm__ volatile("" ::: "memory");
}

PLACE(looks)
{
	for (uint64_t i = 0; i < n; i++)
		MEASURED(s, poll(NULL, 0, 0));
	__asm__ volatile("" ::: "memory");
}

PLACE(waits)
{
	for (uint64_t i = 0; i < n; i++)
		MEASURED(s, poll(NULL, 0, 1 + (int)(i % 3)));
	__asm__ volatile("" ::: "memory");
}

/* Two functions that share the ops and kinds of a pipe, and two of a socket. */
static __thread int pipes[2], sockets[2];
#define PIPED(name, op, fd, size)                                                                  \
	PLACE(name)                                                                                \
	{                                                                                          \
		for (uint64_t i = 0; i < n; i++)                                                   \
			MOVED(s, op(fd, buffer, size));                                            \
		__asm__ volatile("" ::: "memory");                                                 \
	}
PIPED(writes_lines, write, pipes[1], 100)
PIPED(writes_words, write, pipes[1], 40)
PIPED(reads_lines, read, pipes[0], 100)
PIPED(reads_words, read, pipes[0], 40)
PIPED(sends, write, sockets[0], 1000)
PIPED(receives, read, sockets[1], 1000)

#define DO(name, op, n) name(sums_of(#name, op), n)

/* A thread with a pipe and sockets of its own, and then it ends. */
static void *one_of_pipes(void *arg)
{
	if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		exit(3);
	for (unsigned i = 0; i < 30; i++) {
		DO(writes_lines, "write", 10);
		DO(writes_words, "write", 5);
		DO(reads_lines, "read", 10);
		DO(reads_words, "read", 5);
		DO(sends, "write", 3);
		DO(receives, "read", 3);
	}
	for (int i = 0; i < 2; i++) {
		close(pipes[i]);
		close(sockets[i]);
	}
	return arg;
}

static void *one_of_many(void *arg)
{
	for (unsigned i = 0; i < 100; i++) {
		DO(writes_little, "write", 5);
		DO(writes_much, "write", 1);
		DO(reads_little, "read", 3);
		DO(reads_much, "read", 1);
	}
	return arg;
}

/* A thread that lives for a few calls. */
static void *one_of_crowd(void *arg)
{
	DO(writes_much, "write", 3);
	DO(writes_little, "write", 10);
	DO(finds, "stat", 4);
	DO(finds_nothing, "stat", 2);
	return arg;
}

static void threads(unsigned at_once, unsigned rounds, void *(*start)(void *))
{
	pthread_t t[64];

	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned i = 0; i < at_once; i++)
			pthread_create(&t[i], NULL, start, NULL);
		for (unsigned i = 0; i < at_once; i++)
			pthread_join(t[i], NULL);
	}
}

static void run(const char *what)
{
	if (!strcmp(what, "short")) {
		DO(writes_much, "write", 1000);
		DO(reads_little, "read", 500);
	} else if (!strcmp(what, "errors")) {
		for (unsigned i = 0; i < 100; i++) {
			DO(finds, "stat", 1000);
			DO(finds_nothing, "stat", 1);
		}
	} else if (!strcmp(what, "bimodal")) {
		for (unsigned i = 0; i < 50; i++) {
			DO(looks, "poll", 1000);
			DO(waits, "poll", 2);
		}
	} else if (!strcmp(what, "sizes")) {
		for (unsigned i = 0; i < 1000; i++) {
			DO(reads_little, "read", 50);
			DO(reads_much, "read", 4);
			DO(writes_little, "write", 30);
			DO(writes_much, "write", 1);
		}
	} else if (!strcmp(what, "threads")) {
		threads(32, 1, one_of_many);
	} else if (!strcmp(what, "crowd")) {
		threads(4, 250, one_of_crowd);
	} else if (!strcmp(what, "pipes")) {
		threads(4, 10, one_of_pipes);
	} else if (!strcmp(what, "mixed")) {
		for (unsigned i = 0; i < 200; i++) {
			DO(finds, "stat", 20);
			DO(finds_nothing, "stat", 7);
			DO(writes_little, "write", 40);
			DO(writes_much, "write", 3);
			DO(reads_little, "read", 11);
			DO(looks, "poll", 5);
		}
		DO(waits, "poll", 20);
	}
}

int main(int argc, char **argv)
{
	null = open("/dev/null", O_WRONLY);
	zero = open("/dev/zero", O_RDONLY);
	run(argc > 1 ? argv[1] : "short");
	for (const struct sums *s = sums; s->name; s++)
		printf("%s %s %lu %lu %lu %lu\n", s->name, s->op, (unsigned long)s->calls,
		       (unsigned long)s->ns, (unsigned long)s->bytes, (unsigned long)s->errors);
	return 0;
}
