/* SPDX-License-Identifier: BSD-3-Clause */
/* A bump allocator over mmapped pages; see base.h. */
#include "base/base.h"

#include <string.h>

#include "base/sys.h"

/* The first chunk is small, for short programs. Later chunks double up to 1 MiB, so that few are
 * needed. Larger blocks get a chunk of their own. */
#define CHUNK_MIN ((size_t)16 << 10)
#define CHUNK_MAX ((size_t)1 << 20)
/* An arena of at least LARGE bytes gets chunks of CHUNK_LARGE. */
#define LARGE ((size_t)16 << 20)
#define CHUNK_LARGE ((size_t)8 << 20)

struct cp_arena_chunk {
	struct cp_arena_chunk *next;
	size_t size; /* bytes mapped, this header included */
};

static struct cp_arena_chunk *add_chunk(struct cp_arena *a, size_t need)
{
	size_t size = a->chunks ? a->chunks->size * 2 : CHUNK_MIN;
	struct cp_arena_chunk *c;

	if (size > CHUNK_MAX)
		size = a->mapped < LARGE ? CHUNK_MAX : CHUNK_LARGE;
	if (size < need + sizeof(*c))
		size = cp_pages_round(need + sizeof(*c));
	if (a->limit && a->mapped + size > a->limit)
		return NULL;
	c = cp_pages_map(size);
	if (!c)
		return NULL;
	c->size = size;
	c->next = a->chunks;
	a->chunks = c;
	a->used = sizeof(*c);
	a->mapped += size;
	return c;
}

void *cp_arena_alloc(struct cp_arena *a, size_t size)
{
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + 7) & ~(size_t)7;
	if (!a->chunks || a->chunks->size - a->used < size)
		if (!add_chunk(a, size))
			return NULL;
	p = (char *)a->chunks + a->used;
	a->used += size;
	return p;
}

char *cp_arena_text(struct cp_arena *a, const char *s, size_t n)
{
	char *p = cp_arena_alloc(a, n + 1);

	if (p)
		memcpy(p, s, n);
	return p;
}

void cp_arena_release(struct cp_arena *a)
{
	struct cp_arena_chunk *next;

	for (struct cp_arena_chunk *c = a->chunks; c; c = next) {
		next = c->next;
		cp_sys_unmap(c, c->size);
	}
	*a = (struct cp_arena){ .limit = a->limit };
}
