/* SPDX-License-Identifier: BSD-3-Clause */
/* A server that forgets to free what it keeps for each tenth request. The heap profile's "in use"
 * at the end is what was never freed; its site is a function's name.
 *
 *     cc -O2 -g 03-leak.c -o 03-leak
 *     LD_PRELOAD=libcprof.so HEAPPROFILE=03-leak.pb CPROF_HEAP_INTERVAL=64K ./03-leak
 *       -> served 20000 requests
 *     cprof top -sample_index=inuse_space 03-leak.pb
 *       -> (9[0-9]|100)[0-9.]*%.* remember
 *     cprof top -sample_index=alloc_space 03-leak.pb
 *       -> answer
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct note {
	struct note *next;
	char text[4000];
};

static struct note *notes;

__attribute__((noinline)) static void remember(const char *text)
{
	struct note *n = malloc(sizeof(*n));

	if (!n)
		return;
	n->next = notes;
	snprintf(n->text, sizeof(n->text), "%s", text);
	notes = n; /* and nobody ever takes it out again */
}

__attribute__((noinline)) static size_t answer(int number)
{
	char *page = malloc(16384);
	size_t n;

	if (!page)
		return 0;
	n = (size_t)snprintf(page, 16384, "request %d", number);
	if (number % 10 == 0)
		remember(page);
	free(page);
	return n;
}

int main(void)
{
	size_t bytes = 0;

	for (int i = 0; i < 20000; i++)
		bytes += answer(i);
	printf("served 20000 requests, %zu bytes\n", bytes);
	return 0;
}
