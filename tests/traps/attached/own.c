/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with an allocator of its own, which ends the program when it is given another one's
 * block. A library of the program has called free before the library is attached, and calls malloc
 * only then: the loader has still to bind it.
 */
#include "attach.h"

#define MARK 0x6f776e6d616c6c6fUL

static char arena[1 << 26] __attribute__((aligned(16)));
static size_t used;

void *malloc(size_t size)
{
	size_t need = (size + 31) & ~(size_t)15;
	size_t at = __atomic_fetch_add(&used, need, __ATOMIC_RELAXED);
	unsigned long *block = (void *)(arena + at);

	if (at + need > sizeof(arena))
		return NULL;
	block[0] = MARK;
	block[1] = size;
	return block + 2;
}

void free(void *p)
{
	if (p && ((unsigned long *)p)[-2] != MARK)
		abort();
}

void *calloc(size_t n, size_t size)
{
	return malloc(n * size);
}

void *realloc(void *p, size_t size)
{
	void *to = malloc(size);
	size_t had = p ? ((unsigned long *)p)[-1] : 0;

	return to && p ? memcpy(to, p, had < size ? had : size) : to;
}

void *lib_allocate(void);
void lib_free(void *p);

int main(int argc, char **argv)
{
	(void)argc;
	lib_free(malloc(10));
	attach(argv[1]);
	lib_free(lib_allocate());
	detach();
	lib_free(lib_allocate());
	puts("its own");
	HOST_END();
}
