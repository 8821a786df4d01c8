/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded while the library is attached. */
#include <stdlib.h>

void plugin_work(void);

static struct {
	void *(*allocate)(size_t);
	void (*release)(void *);
} volatile table = { malloc, free };

__attribute__((noinline)) void plugin_work(void)
{
	for (int i = 0; i < 100; i++) {
		free(malloc(1000));
		table.release(table.allocate(1000));
	}
	__asm__ volatile("");
}
