/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocation that does not fail; see core.h. */
#include "core/core.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *p)
{
	if (!p) {
		fputs("cprof: out of memory\n", stderr);
		exit(2);
	}
	return p;
}

void *ct_memory_alloc(size_t size)
{
	return checked(calloc(1, size ? size : 1));
}

void *ct_memory_realloc(void *p, size_t count, size_t size)
{
	return checked(reallocarray(p, count ? count : 1, size));
}

char *ct_memory_strdup(const char *s)
{
	return checked(strdup(s));
}

char *ct_memory_printf(const char *fmt, ...)
{
	va_list args;
	char *s = NULL;
	int n;

	va_start(args, fmt);
	n = vasprintf(&s, fmt, args);
	va_end(args);
	return checked(n < 0 ? NULL : s);
}

void *ct_memory_grow(void *items, size_t *room, size_t count, size_t size)
{
	size_t want = *room < 16 ? 16 : *room;

	while (want < count)
		want = want > SIZE_MAX / 2 ? count : want * 2;
	if (want == *room)
		want = *room * 2;
	items = ct_memory_realloc(items, want, size);
	*room = want;
	return items;
}
