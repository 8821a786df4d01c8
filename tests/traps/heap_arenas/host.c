/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives back and asks for blocks of the same 64 sizes, 64 bytes to 63 KB, again and again. Prints
 * how many KiB the heap has taken from the kernel.
 *
 *     heap_arenas [ALIGNMENT]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SLOTS 64
#define TIMES 3000

static size_t alignment;

static void *get(unsigned slot)
{
	size_t size = 64 + slot * 997;
	void *p = NULL;

	if (!alignment)
		p = malloc(size);
	else if (posix_memalign(&p, alignment, size))
		abort();
	return p;
}

int main(int argc, char **argv)
{
	static void *volatile kept[SLOTS];
	char *from = sbrk(0);

	alignment = argc > 1 ? (size_t)atoi(argv[1]) : 0;
	for (unsigned i = 0; i < SLOTS * TIMES; i++) {
		free(kept[i % SLOTS]);
		kept[i % SLOTS] = get(i % SLOTS);
	}
	printf("%lu\n", (unsigned long)((char *)sbrk(0) - from) >> 10);
	return 0;
}
