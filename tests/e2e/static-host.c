/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that is linked statically with libcprof.a, as C or C++: each mode has something to see,
 * before, in and after main, in threads, and in a child of fork.
 *
 *     static-host            the modes are those of the environment
 *     static-host api FILE   profiles itself
 *     static-host spin       until it is killed
 */
#include <spawn.h>

#include "cprof.h"
#include "host.h"

#define FN __attribute__((noinline))

extern char **environ;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t taken;
static void *kept;

__attribute__((constructor)) static void before_main(void)
{
	kept = malloc(3 << 20);
	burn_and_tick(0.02);
}

__attribute__((destructor)) static void after_main(void)
{
	burn_and_tick(0.02);
	free(kept);
}

FN static void *holds(void *unused)
{
	pthread_mutex_lock(&lock);
	sem_post(&taken);
	usleep(100000);
	pthread_mutex_unlock(&lock);
	burn(0.05);
	return unused;
}

FN static void waits_for_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

FN static void *leaks(size_t size)
{
	char *p = (char *)malloc(size);

	memset(p, 1, size);
	return p;
}

FN static void reads_file(const char *path)
{
	char text[4096];
	int fd = open(path, O_RDONLY);

	EXPECT(fd >= 0);
	while (read(fd, text, sizeof(text)) > 0)
		;
	close(fd);
}

FN static void has_child(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		burn_and_tick(0.05);
		exit(7);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

FN static void starts_program(char *self)
{
	char empty[] = "nothing", *argv[] = { self, empty, NULL };
	int status = 0;
	pid_t pid;

	EXPECT(posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0);
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
}

FN static void throws(void)
{
#ifdef __cplusplus
	int caught = 0;

	for (int i = 0; i < 1000; i++)
		try {
			throw new int(i);
		} catch (int *p) {
			caught += *p == i;
			delete p;
		}
	EXPECT(caught == 1000);
#endif
}

static void work(char *self)
{
	pthread_t thread;

	EXPECT(sem_init(&taken, 0, 0) == 0);
	EXPECT(pthread_create(&thread, NULL, holds, NULL) == 0);
	sem_wait(&taken);
	waits_for_lock();
	EXPECT(pthread_join(thread, NULL) == 0);
	for (int i = 0; i < 8; i++)
		free(leaks(1 << 20));
	kept = realloc(kept, 4 << 20);
	EXPECT(leaks(2 << 20) != NULL);
	reads_file(self);
	throws();
	burn_and_tick(0.05);
	has_child();
	starts_program(self);
}

static void profile(const char *file, char *self)
{
	struct cprof_options options = CPROF_OPTIONS_INIT;
	struct cprof_label_scope scope;

	options.cpu_path = file;
	options.frequency = 1000;
	EXPECT(cprof_start(&options) == 0);
	scope = cprof_label_scope_begin("part", "labelled");
	work(self);
	cprof_label_scope_end(&scope);
	EXPECT(cprof_stop() == 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "spin"))
		for (;;)
			burn(1);
	if (!strcmp(what, "api"))
		profile(argv[2], argv[0]);
	else if (!*what)
		work(argv[0]);
	puts("done");
	HOST_END();
}
