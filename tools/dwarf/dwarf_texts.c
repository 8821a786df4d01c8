/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is given back all at once; see dwarf.h. */
#include "dwarf/dwarf.h"

#include "core/core.h"

#include <stdalign.h>
#include <stdlib.h>

#define PIECE_SIZE ((size_t)64 << 10)

struct ct_dw_piece {
	struct ct_dw_piece *next;
	size_t used, size;
	alignas(max_align_t) char data[];
};

void *ct_dwarf_texts_room(struct ct_dw_texts *t, size_t n)
{
	struct ct_dw_piece *p = t->pieces;
	size_t size;

	n = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!p || n > p->size - p->used) {
		size = n > PIECE_SIZE ? n : PIECE_SIZE;
		p = ct_memory_alloc(sizeof(*p) + size);
		p->size = size;
		p->next = t->pieces;
		t->pieces = p;
	}
	p->used += n;
	return p->data + p->used - n;
}

static size_t hash_of(const char *s, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * UINT64_C(0x100000001b3);
	return (size_t)(h ^ h >> 29);
}

/* Returns the slot of S, or the slot where S would be. */
static const char **text_slot(const char **table, size_t room, const char *s, size_t n)
{
	size_t i = hash_of(s, n) & (room - 1);

	while (table[i] && (strncmp(table[i], s, n) || table[i][n]))
		i = (i + 1) & (room - 1);
	return &table[i];
}

static void grow_texts(struct ct_dw_texts *t)
{
	size_t room = t->room ? t->room * 2 : 256;
	const char **table;

	if (t->count * 2 < t->room)
		return;
	table = ct_memory_alloc(room * sizeof(*table));
	for (size_t i = 0; i < t->room; i++)
		if (t->table[i])
			*text_slot(table, room, t->table[i], strlen(t->table[i])) = t->table[i];
	free(t->table);
	t->table = table;
	t->room = room;
}

const char *ct_dwarf_texts_keep(struct ct_dw_texts *t, const char *s, size_t n)
{
	const char **at;
	char *copy;

	grow_texts(t);
	at = text_slot(t->table, t->room, s, n);
	if (*at)
		return *at;
	copy = ct_dwarf_texts_room(t, n + 1);
	memcpy(copy, s, n);
	*at = copy;
	t->count++;
	return copy;
}

void ct_dwarf_texts_free(struct ct_dw_texts *t)
{
	while (t->pieces) {
		struct ct_dw_piece *next = t->pieces->next;

		free(t->pieces);
		t->pieces = next;
	}
	free(t->table);
	*t = (struct ct_dw_texts){ 0 };
}
