/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the scope that contains an entry; see dwarf.h. A unit is read once, when a name is
 * first needed that must be put together from the names of its parents.
 */
#include "dwarf/dwarf.h"

#include "core/core.h"

#include <dwarf.h>
#include <stdlib.h>

static bool is_parent(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_subprogram: return true;
	default: return false;
	}
}

/* Ends the innermost parent if its children end at END; its own depth is DEPTH. */
static uint32_t leave_parent(struct ct_dw_parents *t, uint32_t top, uint32_t depth, uint64_t end)
{
	if (top == CT_DW_NO_PARENT || t->list[top].depth != depth)
		return top;
	t->list[top].end = end;
	return t->list[top].parent;
}

/* Malformed entries end the table. */
static void read_entries(struct ct_dw_parents *t, const struct ct_dw_unit *u)
{
	struct ct_dw_bytes info = u->file->section[CT_DW_INFO];
	struct ct_dw_cursor c = ct_dw_cursor(info, u->root, u->end);
	const struct ct_dw_abbrevs *abbrevs = ct_dwarf_abbrev_of(u);
	uint32_t top = CT_DW_NO_PARENT, depth = 0;

	while (abbrevs && c.p < c.end && !c.bad) {
		struct ct_dw_parent p = { (uint64_t)(c.p - info.data), u->end, top, depth, 0 };
		uint64_t code = ct_dw_uleb(&c);
		const struct ct_dw_abbrev *a = code ? ct_dwarf_abbrev_find(abbrevs, code) : NULL;

		if (!code) {
			if (depth-- <= 1)
				break;
			top = leave_parent(t, top, depth, (uint64_t)(c.p - info.data));
			continue;
		}
		if (!a)
			break;
		ct_dwarf_abbrev_step(abbrevs, a, &c);
		if (!a->children)
			continue;
		depth++;
		if (!is_parent(a->tag))
			continue;
		p.tag = a->tag;
		*CT_PUSH(t->list, t->count, t->room) = p;
		top = (uint32_t)(t->count - 1);
	}
}

const struct ct_dw_parents *ct_dwarf_parents_of(const struct ct_dw_unit *u)
{
	struct ct_dw_file *f = u->file;
	/* U may have been read by itself. */
	const struct ct_dw_unit *listed = ct_dwarf_unit_at(f, u->root);
	size_t at;

	if (!listed)
		return NULL;
	at = (size_t)(listed - f->units);
	if (!f->parents)
		f->parents = ct_memory_alloc(f->unit_count * sizeof(*f->parents));
	if (!f->parents[at]) {
		f->parents[at] = ct_memory_alloc(sizeof(**f->parents));
		read_entries(f->parents[at], u);
	}
	return f->parents[at];
}

uint32_t ct_dwarf_parents_find(const struct ct_dw_parents *t, uint64_t offset)
{
	size_t first = ct_dw_first(t->list, t->count, sizeof(*t->list), offset);
	uint32_t at = first ? (uint32_t)(first - 1) : CT_DW_NO_PARENT;

	while (at != CT_DW_NO_PARENT && t->list[at].end <= offset)
		at = t->list[at].parent;
	return at;
}

void ct_dwarf_parents_free(struct ct_dw_file *f)
{
	for (size_t i = 0; f->parents && i < f->unit_count; i++) {
		if (f->parents[i])
			free(f->parents[i]->list);
		free(f->parents[i]);
	}
	free(f->parents);
	f->parents = NULL;
}
