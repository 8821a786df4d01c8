/* SPDX-License-Identifier: BSD-3-Clause */
/* Does with the loader what its arguments say, one after the other:
 *
 *   open PATH, deep PATH, namespace PATH   load a module (plainly, RTLD_DEEPBIND, dlmopen)
 *   again PATH     load until it lies where the module closed last did
 *   fill PREFIX    load PREFIX0.so, PREFIX1.so, ... until one fails; says how many
 *   work MS, thread MS   so much CPU time in the module loaded last, here or in its own thread
 *   burn MS        so much CPU time in this program
 *   remap          put its text into anonymous memory at the same address
 *   close          unload the module loaded last
 *   unlink PATH, copy FROM TO
 *   start PATH     cprof_start of the module loaded last, profile to PATH
 *   stop           cprof_stop of the same module
 */
#include <link.h>

#include "cprof.h"
#include "tick.h"

/* musl has neither. */
#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0
#define LM_ID_NEWLM 0
#define dlmopen(space, path, how) dlopen(path, how)
#endif

static void *handles[64], *profiler;
static int loaded;
static ElfW(Addr) closed_at;

__attribute__((noinline)) unsigned long burn_loop(unsigned long n);

__attribute__((noinline)) unsigned long burn_loop(unsigned long n)
{
	volatile unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++)
		sum += i * i;
	return sum;
}

static void burn_ms(long ms)
{
	clock_t end = clock() + ms * CLOCKS_PER_SEC / 1000;
	struct host_tick tick = {};

	do
		burn_loop(100000);
	while (clock() < end || !host_ticked(&tick));
}

static void *fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, dlerror());
	exit(2);
}

static void *top(void)
{
	return loaded ? handles[loaded - 1] : fail("nothing is loaded");
}

static void push(void *handle, const char *path)
{
	handles[loaded++] = handle ? handle : fail(path);
}

static ElfW(Addr) base(void)
{
	struct link_map *map = NULL;

	if (dlinfo(top(), RTLD_DI_LINKMAP, &map) < 0)
		fail("dlinfo");
	return map->l_addr;
}

static void unload(void)
{
	closed_at = base();
	if (dlclose(handles[--loaded]))
		fail("dlclose");
}

/* The hole that a module left is the next one's place, unless somebody was faster. */
static void load_again(const char *path)
{
	ElfW(Addr) wanted = closed_at;

	for (int i = 0; i < 1000; i++) {
		push(dlopen(path, RTLD_NOW), path);
		if (base() == wanted)
			return;
		unload();
	}
	fprintf(stderr, "no module at the same address\n");
	exit(77);
}

static void fill(const char *prefix)
{
	char path[4096];
	int n = 0;

	do
		snprintf(path, sizeof(path), "%s%d.so", prefix, n);
	while (!access(path, R_OK) && dlopen(path, RTLD_NOW) && ++n);
	printf("loaded %d\n", n);
}

static void call(const char *function, long ms)
{
	void *f = dlsym(top(), function);

	((void (*)(long))(f ? f : fail(function)))(ms);
}

/* As programs do that want huge pages for their code. */
static void remap(void)
{
	static char copy[4096];
	char *page = (char *)((uintptr_t)dlsym(top(), "work") & ~(uintptr_t)4095);

	memcpy(copy, page, sizeof(copy));
	if (mmap(page, sizeof(copy), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page)
		exit(2);
	memcpy(page, copy, sizeof(copy));
	mprotect(page, sizeof(copy), PROT_READ | PROT_EXEC);
}

static void start(const char *path)
{
	struct cprof_options options = CPROF_OPTIONS_INIT;
	int err;

	profiler = top();
	options.cpu_path = path;
	options.frequency = 1000;
	err = ((int (*)(const struct cprof_options *))dlsym(profiler, "cprof_start"))(&options);
	printf("start %d\n", err);
}

static void stop(void)
{
	printf("stop %d\n", ((int (*)(void))dlsym(profiler, "cprof_stop"))());
}

static void copy(const char *from, const char *to)
{
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	int c;

	while (in && out && (c = getc(in)) != EOF)
		putc(c, out);
	if (!in || fclose(in) || !out || fclose(out))
		exit(2);
}

static void with_argument(const char *verb, const char *arg)
{
	if (!strcmp(verb, "open"))
		push(dlopen(arg, RTLD_NOW), arg);
	else if (!strcmp(verb, "deep"))
		push(dlopen(arg, RTLD_NOW | RTLD_DEEPBIND), arg);
	else if (!strcmp(verb, "namespace"))
		push(dlmopen(LM_ID_NEWLM, arg, RTLD_NOW), arg);
	else if (!strcmp(verb, "again"))
		load_again(arg);
	else if (!strcmp(verb, "fill"))
		fill(arg);
	else if (!strcmp(verb, "work"))
		call("work", atol(arg));
	else if (!strcmp(verb, "thread"))
		call("work_in_thread", atol(arg));
	else if (!strcmp(verb, "burn"))
		burn_ms(atol(arg));
	else if (!strcmp(verb, "unlink"))
		unlink(arg);
	else if (!strcmp(verb, "start"))
		start(arg);
	else
		exit(3);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "close"))
			unload();
		else if (!strcmp(argv[i], "stop"))
			stop();
		else if (!strcmp(argv[i], "remap"))
			remap();
		else if (!strcmp(argv[i], "copy") && i + 2 < argc)
			i += 2, copy(argv[i - 1], argv[i]);
		else if (++i < argc)
			with_argument(argv[i - 1], argv[i]);
	}
	return 0;
}
