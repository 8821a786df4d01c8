/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing array in mmapped pages; see base.h. */
#include "base/base.h"

#include <string.h>

#include "base/sys.h"

static size_t bytes_of(const struct cp_vec *v, size_t room)
{
	return cp_pages_round(room * v->size);
}

static void *grow_vec(const struct cp_vec *v, size_t size)
{
	void *items = cp_pages_map(size);

	/* mremap isn't used, because it would let the kernel choose the address. */
	if (items && v->items) {
		memcpy(items, v->items, v->count * v->size);
		cp_sys_unmap(v->items, bytes_of(v, v->room));
	}
	return items;
}

static bool make_room(struct cp_vec *v, size_t room)
{
	void *items = grow_vec(v, bytes_of(v, room));

	if (!items)
		return false;
	v->items = items;
	v->room = room;
	return true;
}

void *cp_vec_add(struct cp_vec *v)
{
	if (v->count == v->room &&
	    !make_room(v, v->room ? v->room * 2 : (CP_PAGES_SIZE + v->size - 1) / v->size))
		return NULL;
	/* Zeroed, because the vector may have been longer before. */
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
