/* SPDX-License-Identifier: BSD-3-Clause */
/* Interned text; see pprof.h. */
#include "output/pprof.h"

#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "base/sys.h"

#define SLOTS_MIN ((size_t)1024) /* one page */

/* Returns the slot that holds the text, or the free slot where it belongs. */
static uint32_t *slot_of(const struct cp_intern *t, const char *s, size_t n, uint32_t hash)
{
	size_t mask = t->slot_count - 1, i = hash & mask;

	for (; t->slots[i]; i = (i + 1) & mask) {
		const struct cp_intern_entry *e =
			CP_VEC_AT(&t->entries, struct cp_intern_entry, t->slots[i] - 1);

		if (e->hash == hash && e->length == n && !memcmp(e->text, s, n))
			break;
	}
	return &t->slots[i];
}

static int grow(struct cp_intern *t)
{
	size_t count = t->slot_count ? t->slot_count * 2 : SLOTS_MIN;
	uint32_t *slots = cp_sys_map(count * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	cp_sys_unmap(t->slots, t->slot_count * sizeof(*slots));
	t->slots = slots;
	t->slot_count = count;
	/* All entries differ, so it is enough to look for a free slot. */
	for (size_t id = 0; id < t->entries.count; id++) {
		size_t i = CP_VEC_AT(&t->entries, struct cp_intern_entry, id)->hash & (count - 1);

		while (slots[i])
			i = (i + 1) & (count - 1);
		slots[i] = (uint32_t)id + 1;
	}
	return 0;
}

int cp_intern_add(struct cp_intern *t, const char *s, size_t n, uint64_t *id)
{
	uint32_t hash = cp_index_hash(s, n), *slot;
	struct cp_intern_entry *e;
	char *text;

	if (n >= UINT32_MAX || t->entries.count >= UINT32_MAX - 1)
		return -ENOMEM;
	if (t->entries.count >= t->slot_count / 4 * 3 && grow(t))
		return -ENOMEM;
	slot = slot_of(t, s, n, hash);
	if (!*slot) {
		t->entries.size = sizeof(*e);
		text = cp_arena_text(&t->texts, s, n);
		e = text ? cp_vec_add(&t->entries) : NULL;
		if (!e)
			return -ENOMEM;
		*e = (struct cp_intern_entry){ text, (uint32_t)n, hash };
		*slot = (uint32_t)t->entries.count;
	}
	*id = *slot - 1;
	return 0;
}

void cp_intern_release(struct cp_intern *t)
{
	cp_sys_unmap(t->slots, t->slot_count * sizeof(*t->slots));
	cp_vec_release(&t->entries);
	cp_arena_release(&t->texts);
	t->slots = NULL;
	t->slot_count = 0;
}
