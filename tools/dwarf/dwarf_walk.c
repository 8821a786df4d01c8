/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the scopes of addresses; see dwarf.h.
 *
 * Entries are stepped over in turn, with a plan for each abbreviation. Subtrees of types, and of
 * functions that have none of the addresses, are left out where the compiler says where they end
 * (gcc does). Some compilers put functions into other functions or into types: if an address was
 * not found, all entries are walked.
 */
#include "dwarf/dwarf.h"

/* Most references from an entry to its name; real ones take three. */
#define HOPS_MAX 16

struct walk {
	const struct ct_dw_unit *u;
	const uint64_t *addresses;
	struct ct_dw_scope **scopes;
	size_t count;
	struct ct_dw_texts *memory;
	struct ct_dw_scope *top; /* the innermost scope around the current entry */
	bool leaves_out;	 /* subtrees may be left out */
	bool has_left_out;
	size_t open; /* addresses that no function has claimed yet */
};

static bool is_within(const struct ct_dw_scope *s, const struct ct_dw_scope *of)
{
	while (s && s != of)
		s = s->caller;
	return s != NULL;
}

/* An inlined call is a narrower scope only if its caller is the scope found BEFORE or lies inside
 * it. A function is one only if no scope was found before. */
static bool narrows(const struct ct_dw_scope *s, const struct ct_dw_scope *before)
{
	return s->caller ? before && is_within(s->caller, before) : !before;
}

static struct ct_dw_scope *keep_scope(struct walk *w, const struct ct_dw_scope *s)
{
	struct ct_dw_scope *kept = ct_dwarf_texts_room(w->memory, sizeof(*s));

	if (kept) {
		*kept = *s;
		w->top = kept;
	}
	return kept;
}

static void claim_scope(struct walk *w, const struct ct_dw_scope *s, const struct ct_dw_entry *e)
{
	struct ct_dw_scope *kept = NULL;
	struct ct_dw_ranges r;
	uint64_t low, high;

	ct_dwarf_ranges_begin(&r, w->u, e);
	while (ct_dwarf_ranges_next(&r, &low, &high)) {
		for (size_t i = ct_dw_first(w->addresses, w->count, sizeof(*w->addresses), low);
		     i < w->count && w->addresses[i] < high; i++) {
			if (!narrows(s, w->scopes[i]))
				continue;
			if (!kept && !(kept = keep_scope(w, s)))
				return;
			w->open -= !w->scopes[i];
			w->scopes[i] = kept;
		}
	}
}

/* Visits a function or an inlined call. Returns the offset of the entry after its children, or 0.
 */
static uint64_t visit(struct walk *w, const struct ct_dw_abbrevs *t, const struct ct_dw_abbrev *a,
		      struct ct_dw_cursor *c, uint64_t entry, unsigned depth)
{
	struct ct_dw_scope s = { .outer = w->top, .depth = depth, .entry = entry };
	struct ct_dw_entry e;
	struct ct_dw_file *file;
	uint64_t next;

	ct_dwarf_unit_entry(w->u, t, a, c, &e);
	if (c->bad)
		return 0;
	if (a->kind == CT_DW_INLINED) {
		s.caller = w->top;
		s.call_file = e.at[CT_DW_CALL_FILE].u;
		s.call_line = e.at[CT_DW_CALL_LINE].u;
		s.call_column = e.at[CT_DW_CALL_COLUMN].u;
		s.call_discriminator = e.at[CT_DW_CALL_DISCRIMINATOR].u;
	}
	claim_scope(w, &s, &e);
	return ct_dwarf_form_entry(w->u, &e.at[CT_DW_SIBLING], &file, &next) && file == w->u->file
		       ? next
		       : 0;
}

/* Moves C to the entry at offset NEXT, if it is one after C. */
static bool leave_out(struct walk *w, struct ct_dw_cursor *c, const uint8_t *info, uint64_t next)
{
	if (!w->leaves_out || w->top || next >= w->u->end || next <= (uint64_t)(c->p - info))
		return false;
	c->p = info + next;
	w->has_left_out = true;
	return true;
}

static void walk_unit(struct walk *w, const struct ct_dw_abbrevs *t)
{
	struct ct_dw_bytes info = w->u->file->section[CT_DW_INFO];
	struct ct_dw_cursor c = ct_dw_cursor(info, w->u->root, w->u->end);
	unsigned depth = 0;

	while (c.p < c.end && !c.bad) {
		uint64_t entry = (uint64_t)(c.p - info.data), code = ct_dw_uleb(&c), next = 0;
		const struct ct_dw_abbrev *a;

		if (!code) {
			if (depth-- <= 1)
				break;
			continue;
		}
		a = ct_dwarf_abbrev_find(t, code);
		if (!a)
			break;
		while (w->top && w->top->depth >= depth)
			w->top = w->top->outer;
		/* Only entries inside a function that claimed an address narrow its scope. */
		if (!w->top && !w->open)
			break;
		if (a->kind == CT_DW_FUNCTION || (a->kind == CT_DW_INLINED && w->top)) {
			next = visit(w, t, a, &c, entry, depth);
		} else {
			struct ct_dw_cursor at = c;

			ct_dwarf_abbrev_step(t, a, &c);
			if (a->sibling >= 0) {
				ct_dw_skip(&at, (uint64_t)a->sibling);
				next = w->u->offset + ct_dw_uint(&at, 4);
			}
		}
		if (!leave_out(w, &c, info.data, next))
			depth += a->children;
	}
	w->top = NULL;
}

void ct_dwarf_walk(const struct ct_dw_unit *u, const uint64_t *addresses,
		   struct ct_dw_scope **scopes, size_t n, struct ct_dw_texts *memory)
{
	const struct ct_dw_abbrevs *t = ct_dwarf_abbrev_of(u);
	struct walk w = { u, addresses, scopes, n, memory, NULL, true, false, n };

	if (!t)
		return;
	ct_dwarf_elf_will_read(u->file->section[CT_DW_INFO].data + u->root,
			       (size_t)(u->end - u->root));
	walk_unit(&w, t);
	w.leaves_out = false;
	if (w.open && w.has_left_out)
		walk_unit(&w, t);
}

bool ct_dwarf_walk_entry(const struct ct_dw_unit *u, uint64_t offset, struct ct_dw_entry *e,
			 uint16_t *tag)
{
	struct ct_dw_cursor c = ct_dw_cursor(u->file->section[CT_DW_INFO], offset, u->end);
	const struct ct_dw_abbrevs *t = ct_dwarf_abbrev_of(u);
	const struct ct_dw_abbrev *a = t ? ct_dwarf_abbrev_find(t, ct_dw_uleb(&c)) : NULL;

	if (!a)
		return false;
	*tag = a->tag;
	ct_dwarf_unit_entry(u, t, a, &c, e);
	return !c.bad;
}

static const char *text_of(const struct ct_dw_unit *u, const struct ct_dw_value *v)
{
	const char *s = v->form ? ct_dwarf_form_text(u, v) : NULL;

	return s && *s ? s : NULL;
}

static void take_entry(const struct ct_dw_unit *u, const struct ct_dw_entry *e,
		       const char **linkage, struct ct_dw_function *to)
{
	if (!*linkage)
		*linkage = text_of(u, &e->at[CT_DW_LINKAGE_NAME]);
	if (!to->name)
		to->name = text_of(u, &e->at[CT_DW_NAME]);
	if (!to->line) {
		to->line = e->at[CT_DW_DECL_LINE].u;
		to->column = e->at[CT_DW_DECL_COLUMN].u;
	}
	if (!to->declared_in && e->at[CT_DW_DECL_FILE].form) {
		to->declared_in = u;
		to->file = e->at[CT_DW_DECL_FILE].u;
	}
}

bool ct_dwarf_walk_origin(const struct ct_dw_unit **u, uint64_t *offset,
			  const struct ct_dw_entry *e)
{
	const struct ct_dw_value *next = &e->at[CT_DW_ORIGIN];
	struct ct_dw_file *file;

	if (!next->form)
		next = &e->at[CT_DW_SPECIFICATION];
	if (!next->form || !ct_dwarf_form_entry(*u, next, &file, offset))
		return false;
	if (file != (*u)->file || *offset < (*u)->root || *offset >= (*u)->end)
		*u = ct_dwarf_unit_at(file, *offset);
	return *u != NULL;
}

void ct_dwarf_walk_function_of(const struct ct_dw_unit *u, uint64_t offset,
			       struct ct_dw_function *to)
{
	const char *linkage = NULL;
	struct ct_dw_entry e;
	uint16_t tag;

	*to = (struct ct_dw_function){ 0 };
	for (int hop = 0; hop < HOPS_MAX && ct_dwarf_walk_entry(u, offset, &e, &tag); hop++) {
		to->unit = u;
		to->entry = offset;
		take_entry(u, &e, &linkage, to);
		if (!ct_dwarf_walk_origin(&u, &offset, &e))
			break;
	}
	to->is_linkage = linkage != NULL;
	if (linkage)
		to->name = linkage;
}
