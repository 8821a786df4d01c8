/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with its own malloc, as programs with a bundled allocator are: it looks up the
 * next malloc with dlsym, and dlsym may call calloc before that is known. */
#include "tick.h"

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int resolving, early;
} next;

static char arena[1 << 16] __attribute__((aligned(16)));
static size_t used;

static void *from_arena(size_t size)
{
	void *p = arena + used;

	next.early++;
	used += (size + 15) & ~(size_t)15;
	return used <= sizeof(arena) ? p : NULL;
}

static int in_arena(const void *p)
{
	return (const char *)p >= arena && (const char *)p < arena + sizeof(arena);
}

static int resolve(void)
{
	if (next.free)
		return 1;
	if (next.resolving)
		return 0;
	next.resolving = 1;
	/* The first look-up fails, so that dlsym has an error to allocate. */
	dlsym(RTLD_NEXT, "no such function");
	*(void **)&next.malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&next.calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&next.realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&next.free = dlsym(RTLD_NEXT, "free");
	return 1;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT void *malloc(size_t size)
{
	return resolve() ? next.malloc(size) : from_arena(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return resolve() ? next.calloc(n, size) : from_arena(n * size);
}

EXPORT void *realloc(void *p, size_t size)
{
	void *moved;

	if (!in_arena(p))
		return resolve() ? next.realloc(p, size) : from_arena(size);
	moved = malloc(size);
	if (moved)
		memmove(moved, p, size);
	return moved;
}

EXPORT void free(void *p)
{
	if (p && !in_arena(p) && resolve())
		next.free(p);
}

__attribute__((noinline)) void *allocate(size_t size);

__attribute__((noinline)) void *allocate(size_t size)
{
	char *p = malloc(size);

	for (size_t i = 0; p && i < size; i++)
		((volatile char *)p)[i] = (char)i;
	return p;
}

int main(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 5;
	struct host_tick tick = {};

	do {
		void *a = allocate(10000), *b = realloc(calloc(3, 100), 1000);

		free(a);
		free(b);
	} while (clock() < end);
	while (!host_ticked(&tick))
		free(allocate(100000));
	printf("%d from the arena\n", next.early > 0);
	return 0;
}
