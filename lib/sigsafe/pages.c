/* Arena and vector over mmap'd pages; see pages.h. */
#include "sigsafe/pages.h"

#include <stdbool.h>
#include <string.h>

#include "sigsafe/sys.h"

/* The first chunk is small (a short program stays small), later ones double up
 * to 1 MiB, so that few are needed; bigger blocks get a chunk of their own. */
#define CHUNK_MIN ((size_t)16 << 10)
#define CHUNK_MAX ((size_t)1 << 20)
#define PAGE ((size_t)4096)
/* An arena so large has such chunks from then on. */
#define LARGE ((size_t)16 << 20)
#define CHUNK_LARGE ((size_t)8 << 20)
/* What is larger is given huge pages, of which the last may be used in part only. */
#define HUGE_FROM ((size_t)4 << 20)

/* What grows to no more is moved, not copied. */
#define MOVED_MAX ((size_t)256 << 10)

struct cp_arena_chunk {
	struct cp_arena_chunk *next;
	size_t size; /* bytes mapped, this header included */
};

void *cp_pages_map(size_t size)
{
	void *p = cp_sys_map(size);

	if (p && size >= HUGE_FROM)
		cp_sys3(SYS_madvise, p, size, MADV_HUGEPAGE);
	return p;
}

static struct cp_arena_chunk *add_chunk(struct cp_arena *a, size_t need)
{
	size_t size = a->chunks ? a->chunks->size * 2 : CHUNK_MIN;
	struct cp_arena_chunk *c;

	if (size > CHUNK_MAX)
		size = a->mapped < LARGE ? CHUNK_MAX : CHUNK_LARGE;
	if (size < need + sizeof(*c))
		size = (need + sizeof(*c) + PAGE - 1) & ~(PAGE - 1);
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

static size_t bytes_of(const struct cp_vec *v, size_t room)
{
	return (room * v->size + PAGE - 1) & ~(PAGE - 1);
}

static void *grow(const struct cp_vec *v, size_t size)
{
	size_t had = v->items ? bytes_of(v, v->room) : 0;
	void *items;
	long moved;

	/* The pages move as they are, while the program's threads can't map any: a few only. */
	if (had && size <= MOVED_MAX) {
		moved = cp_sys4(SYS_mremap, v->items, had, size, MREMAP_MAYMOVE);
		if (moved >= 0 || moved <= -4096)
			return (void *)moved;
	}
	items = cp_pages_map(size);
	if (items && had) {
		memcpy(items, v->items, v->count * v->size);
		cp_sys_unmap(v->items, had);
	}
	return items;
}

static bool make_room(struct cp_vec *v, size_t room)
{
	void *items = grow(v, bytes_of(v, room));

	if (!items)
		return false;
	v->items = items;
	v->room = room;
	return true;
}

void *cp_vec_add(struct cp_vec *v)
{
	if (v->count == v->room &&
	    !make_room(v, v->room ? v->room * 2 : (PAGE + v->size - 1) / v->size))
		return NULL;
	/* Not all are fresh: a vector may have been longer. */
	return memset((char *)v->items + v->count++ * v->size, 0, v->size);
}

bool cp_vec_extend(struct cp_vec *v, size_t count)
{
	if (count <= v->count)
		return true;
	if (count > v->room && !make_room(v, count))
		return false;
	memset((char *)v->items + v->count * v->size, 0, (count - v->count) * v->size);
	v->count = count;
	return true;
}

void cp_vec_release(struct cp_vec *v)
{
	cp_sys_unmap(v->items, v->items ? bytes_of(v, v->room) : 0);
	v->items = NULL;
	v->count = v->room = 0;
}
