/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that loads the library while it runs, in a thread of its own, as `cprof attach` does.
 *
 *   attached-host   lines of the input say what to do: see obey
 */
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "attach.h"
#include "mutex_word.h"

#define EARLY 3
#define BLOCKS 2000
#define KEPT 10
#define WAITS 20
#define CALLS 500

static void *kept[EARLY + 2][KEPT];

__attribute__((noinline)) static void heap_work(int who)
{
	for (int i = 0; i < BLOCKS; i++) {
		void *p = realloc(malloc((size_t)(100 + i % 50)), 300);

		EXPECT(p != NULL);
		if (i < KEPT) {
			free(kept[who][i]);
			kept[who][i] = p;
		} else {
			free(p);
		}
		/* libc's own call of malloc. */
		free(strdup("text"));
	}
	__asm__ volatile("");
}

/* Functions in variables that the loader has initialised, as libraries have for the allocator and
 * for system calls. */
static struct table {
	void *(*allocate)(size_t);
	void (*release)(void *);
} table = { malloc, free };
static const struct table *volatile in_use = &table;

/* The loader makes the page of this one read-only. */
static const struct table constant = { malloc, free };

__attribute__((noinline)) static void table_work(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		const struct table *t = in_use;

		t->release(t->allocate(200));
		in_use = i % 2 ? &table : &constant;
	}
	__asm__ volatile("");
}

/* Nobody may touch these. */
static _Alignas(65536) struct {
	void *(*allocate)(size_t);
	char rest[65528];
} forbidden = { malloc, "" };

static void forbid(void)
{
	EXPECT(!mprotect(&forbidden, sizeof(forbidden), PROT_NONE));
}

__attribute__((noinline)) static void io_work(void)
{
	int fd = open("/dev/null", O_WRONLY);

	for (int i = 0; i < CALLS; i++)
		EXPECT(write(fd, "abc", 3) == 3);
	close(fd);
	__asm__ volatile("");
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t held, waits, got;

__attribute__((noinline)) static void lock_work(void)
{
	for (int i = 0; i < WAITS; i++) {
		sem_wait(&held);
		sem_post(&waits);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		sem_post(&got);
	}
	__asm__ volatile("");
}

__attribute__((noinline)) static void hold_work(void)
{
	for (int i = 0; i < WAITS; i++) {
		pthread_mutex_lock(&mutex);
		sem_post(&held);
		sem_wait(&waits);
		/* Until the other one waits. */
		while (!mutex_is_awaited(&mutex))
			usleep(100);
		usleep(1000);
		pthread_mutex_unlock(&mutex);
		sem_wait(&got);
	}
	__asm__ volatile("");
}

static pthread_barrier_t begins, ends;
static volatile int over;

/* The first thread waits for locks that main has. */
static void *early_thread(void *arg)
{
	int who = (int)(intptr_t)arg;

	while (pthread_barrier_wait(&begins), !over) {
		heap_work(who);
		io_work();
		if (!who)
			lock_work();
		burn_and_tick(0.2);
		pthread_barrier_wait(&ends);
	}
	return NULL;
}

static void *late_thread(void *arg)
{
	heap_work(EARLY);
	io_work();
	return arg;
}

__attribute__((noinline)) static void work(void)
{
	pthread_t late;

	pthread_barrier_wait(&begins);
	heap_work(EARLY + 1);
	table_work();
	io_work();
	hold_work();
	EXPECT(!pthread_create(&late, NULL, late_thread, NULL) && !pthread_join(late, NULL));
	pthread_barrier_wait(&ends);
}

static int is_of_libcprof(void *(*f)(size_t))
{
	void *p;
	Dl_info info;

	memcpy(&p, (void *)&f, sizeof(p));
	EXPECT(dladdr(p, &info));
	return strstr(info.dli_fname, "libcprof") != NULL;
}

/* What the program's own calls lead to. */
static void tell_malloc(void)
{
	void *(*volatile f)(size_t) = malloc;
	const struct table *volatile t = &constant;
	int is = is_of_libcprof(f);

	EXPECT(is_of_libcprof(t->allocate) == is);
	t = &table;
	EXPECT(is_of_libcprof(t->allocate) == is);
	printf("malloc of %s\n", is ? "libcprof" : "another");
}

static void call_plugin(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);
	void *symbol = handle ? dlsym(handle, "plugin_work") : NULL;
	void (*f)(void) = NULL;

	if (!handle)
		printf("%s\n", dlerror());
	memcpy(&f, &symbol, sizeof(f));
	EXPECT(f != NULL);
	if (f)
		f();
	EXPECT(handle && !dlclose(handle));
}

/* None of its calls is bound before the first. */
static void load_lazily(const char *path)
{
	EXPECT(dlopen(path, RTLD_LAZY) != NULL);
}

static void times(int n, char *library)
{
	for (int i = 0; i < n; i++) {
		attach(library);
		detach();
	}
}

static void *stay(void *library)
{
	int state = 0;
	char line[256];

	while (state != 'Z') {
		FILE *f = fopen("/proc/self/stat", "r");

		if (f && fgets(line, sizeof(line), f))
			state = strrchr(line, ')')[2];
		if (f)
			fclose(f);
		usleep(1000);
	}
	attach(library);
	heap_work(0);
	return NULL;
}

/* Main ends before the library comes; the process ends with its last thread. */
static void leave_main(char *library)
{
	static char path[4100];
	pthread_t t;

	snprintf(path, sizeof(path), "%s", library);
	over = 1;
	pthread_barrier_wait(&begins);
	EXPECT(!pthread_create(&t, NULL, stay, path));
	pthread_exit(NULL);
}

static char *comes_in_fork;

static void come_in_fork(void)
{
	if (comes_in_fork)
		attach(comes_in_fork);
}

/* The library is there, but comes into use only between the handlers of a fork. */
static void fork_meanwhile(char *library)
{
	struct rusage before, after;
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	int status;
	pid_t child;

	EXPECT(handle != NULL);
	comes_in_fork = library;
	child = fork();
	if (!child)
		_exit(0);
	comes_in_fork = NULL;
	EXPECT(child > 0 && waitpid(child, &status, 0) == child && !status);
	getrusage(RUSAGE_THREAD, &before);
	EXPECT(dlopen("libc.so.6", RTLD_NOW) != NULL);
	getrusage(RUSAGE_THREAD, &after);
	/* It waits for no fork. */
	EXPECT(after.ru_nvcsw - before.ru_nvcsw < 10);
	detach();
}

static void obey(const char *what, char *with)
{
	int n;

	if (!strcmp(what, "attach"))
		attach(with);
	else if (!strcmp(what, "detach"))
		detach();
	else if (!strcmp(what, "work"))
		work();
	else if (!strcmp(what, "plugin"))
		call_plugin(with);
	else if (!strcmp(what, "lazy"))
		load_lazily(with);
	else if (!strcmp(what, "malloc"))
		tell_malloc();
	else if (!strcmp(what, "leave"))
		leave_main(with);
	else if (!strcmp(what, "fork"))
		fork_meanwhile(with);
	else if (!strcmp(what, "times") && sscanf(with, "%d", &n) == 1)
		times(n, strchr(with, ':') + 1);
}

int main(void)
{
	char line[4200], what[32], with[4100];
	pthread_t early[EARLY];

	forbid();
	pthread_atfork(come_in_fork, NULL, NULL);
	sem_init(&held, 0, 0);
	sem_init(&waits, 0, 0);
	sem_init(&got, 0, 0);
	pthread_barrier_init(&begins, NULL, EARLY + 1);
	pthread_barrier_init(&ends, NULL, EARLY + 1);
	for (int i = 0; i < EARLY; i++)
		EXPECT(!pthread_create(&early[i], NULL, early_thread, (void *)(intptr_t)i));
	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	puts("up");
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "end\n")) {
		*with = '\0';
		if (sscanf(line, "%31s %4099s", what, with) < 1)
			continue;
		obey(what, with);
		printf("did %s", line);
	}
	over = 1;
	pthread_barrier_wait(&begins);
	for (int i = 0; i < EARLY; i++)
		pthread_join(early[i], NULL);
	HOST_END();
}
