/* SPDX-License-Identifier: BSD-3-Clause */
/* Abbreviation tables; see dwarf.h. */
#include "dwarf/dwarf.h"

#include "core/core.h"

#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>

/* Limits against hostile tables: real ones have some hundred abbreviations of some ten attributes.
 */
#define ABBREVS_MAX (1u << 20)
#define SPECS_MAX (1u << 22)

/* Adds a value of SIZE to the plan. Successive values of fixed size become one step. */
static bool plan_value(struct ct_dw_abbrevs *t, struct ct_dw_abbrev *a, int size)
{
	int32_t *last = a->step_count ? &t->steps[t->step_count - 1] : NULL;

	if (size == 0)
		return true;
	if (size > 0 && last && *last > 0 && *last < INT_MAX / 2) {
		*last += size;
		return true;
	}
	if (t->step_count == SPECS_MAX)
		return false;
	*CT_PUSH(t->steps, t->step_count, t->step_room) = size;
	a->step_count++;
	return true;
}

static bool read_spec(struct ct_dw_abbrevs *t, struct ct_dw_abbrev *a, struct ct_dw_cursor *c,
		      bool *last)
{
	struct ct_dw_spec s = { 0 };
	uint64_t at = ct_dw_uleb(c), form = ct_dw_uleb(c);

	*last = !at && !form;
	if (c->bad || *last)
		return !c->bad;
	if (at > UINT16_MAX || form > UINT16_MAX)
		return false;
	s.at = (uint16_t)at;
	s.form = (uint16_t)form;
	if (form == DW_FORM_implicit_const)
		s.implicit = ct_dw_sleb(c);
	if (t->spec_count == SPECS_MAX)
		return false;
	*CT_PUSH(t->specs, t->spec_count, t->spec_room) = s;
	a->spec_count++;
	return plan_value(t, a,
			  ct_dwarf_form_size(s.form, t->version, t->address_size, t->offset_size));
}

static uint8_t kind_of(const struct ct_dw_abbrevs *t, const struct ct_dw_abbrev *a)
{
	bool addresses = false;

	for (uint32_t i = 0; i < a->spec_count; i++) {
		uint16_t at = t->specs[a->specs + i].at;

		addresses |= at == DW_AT_low_pc || at == DW_AT_ranges;
	}
	if (!addresses)
		return CT_DW_OTHER;
	return a->tag == DW_TAG_subprogram	     ? CT_DW_FUNCTION
	       : a->tag == DW_TAG_inlined_subroutine ? CT_DW_INLINED
						     : CT_DW_OTHER;
}

/* Functions are in units and namespaces. */
static int32_t sibling_of(const struct ct_dw_abbrevs *t, const struct ct_dw_abbrev *a)
{
	int32_t at = 0;

	if (!a->children || a->tag == DW_TAG_namespace || a->tag == DW_TAG_module ||
	    a->tag == DW_TAG_compile_unit || a->tag == DW_TAG_partial_unit)
		return -1;
	for (uint32_t i = 0; i < a->spec_count; i++) {
		const struct ct_dw_spec *s = &t->specs[a->specs + i];
		int size = ct_dwarf_form_size(s->form, t->version, t->address_size, t->offset_size);

		if (s->at == DW_AT_sibling)
			return s->form == DW_FORM_ref4 ? at : -1;
		if (size < 0 || at > INT_MAX / 2)
			return -1;
		at += size;
	}
	return -1;
}

static bool read_abbrev(struct ct_dw_abbrevs *t, uint64_t code, struct ct_dw_cursor *c)
{
	struct ct_dw_abbrev a = { .code = code,
				  .specs = (uint32_t)t->spec_count,
				  .steps = (uint32_t)t->step_count };
	bool last = false;

	a.tag = (uint16_t)ct_dw_uleb(c);
	a.children = ct_dw_uint(c, 1) != 0;
	while (!last)
		if (!read_spec(t, &a, c, &last))
			return false;
	a.kind = kind_of(t, &a);
	a.sibling = sibling_of(t, &a);
	a.fixed = !a.step_count				       ? 0
		  : a.step_count == 1 && t->steps[a.steps] > 0 ? t->steps[a.steps]
							       : -1;
	if (t->count == ABBREVS_MAX)
		return false;
	*CT_PUSH(t->list, t->count, t->list_room) = a;
	return true;
}

static int by_code(const void *x, const void *y)
{
	const struct ct_dw_abbrev *a = x, *b = y;

	return (a->code > b->code) - (a->code < b->code);
}

static struct ct_dw_abbrevs *read_table(const struct ct_dw_unit *u)
{
	struct ct_dw_bytes b = u->file->section[CT_DW_ABBREV];
	struct ct_dw_cursor c = ct_dw_cursor(b, u->abbrev_offset, b.size);
	struct ct_dw_abbrevs *t = ct_memory_alloc(sizeof(*t));
	bool sorted = true;
	uint64_t code;

	t->offset = u->abbrev_offset;
	t->version = u->version;
	t->address_size = u->address_size;
	t->offset_size = u->offset_size;
	while ((code = ct_dw_uleb(&c)) != 0) {
		if (!read_abbrev(t, code, &c)) {
			ct_dwarf_abbrev_free(t);
			return NULL;
		}
		sorted &= t->count < 2 || t->list[t->count - 2].code < code;
	}
	if (!sorted)
		qsort(t->list, t->count, sizeof(*t->list), by_code);
	return t;
}

static bool table_fits(const struct ct_dw_abbrevs *t, const struct ct_dw_unit *u)
{
	return t && t->offset == u->abbrev_offset && t->version == u->version &&
	       t->address_size == u->address_size && t->offset_size == u->offset_size;
}

const struct ct_dw_abbrevs *ct_dwarf_abbrev_of(const struct ct_dw_unit *u)
{
	uint64_t hash = (u->abbrev_offset * UINT64_C(0x9e3779b97f4a7c15)) >> 40;
	struct ct_dw_abbrevs **slot = &u->file->abbrevs[hash % CT_DW_CACHED];

	if (!table_fits(*slot, u)) {
		ct_dwarf_abbrev_free(*slot);
		*slot = read_table(u);
	}
	return *slot;
}

const struct ct_dw_abbrev *ct_dwarf_abbrev_find(const struct ct_dw_abbrevs *t, uint64_t code)
{
	size_t at;

	/* Codes nearly always count up from 1. */
	if (code - 1 < t->count && t->list[code - 1].code == code)
		return &t->list[code - 1];
	at = ct_dw_first(t->list, t->count, sizeof(*t->list), code);
	return at < t->count && t->list[at].code == code ? &t->list[at] : NULL;
}

static void step_over(struct ct_dw_cursor *c, const struct ct_dw_abbrevs *t, int32_t step)
{
	switch (step) {
	case CT_DW_LEB: ct_dw_uleb(c); break;
	case CT_DW_TEXT: ct_dw_text(c); break;
	case CT_DW_BLOCK: ct_dw_skip(c, ct_dw_uleb(c)); break;
	case CT_DW_BLOCK1: ct_dw_skip(c, ct_dw_uint(c, 1)); break;
	case CT_DW_BLOCK2: ct_dw_skip(c, ct_dw_uint(c, 2)); break;
	case CT_DW_BLOCK4: ct_dw_skip(c, ct_dw_uint(c, 4)); break;
	case CT_DW_INDIRECT:
		step = ct_dwarf_form_size((uint16_t)ct_dw_uleb(c), t->version, t->address_size,
					  t->offset_size);
		if (step == CT_DW_INDIRECT)
			c->bad = true;
		else
			step_over(c, t, step);
		break;
	case CT_DW_UNKNOWN: c->bad = true; break;
	default: ct_dw_skip(c, (uint64_t)step);
	}
}

void ct_dwarf_abbrev_step(const struct ct_dw_abbrevs *t, const struct ct_dw_abbrev *a,
			  struct ct_dw_cursor *c)
{
	if (a->fixed >= 0) {
		ct_dw_skip(c, (uint64_t)a->fixed);
		return;
	}
	for (uint32_t i = 0; i < a->step_count; i++)
		step_over(c, t, t->steps[a->steps + i]);
}

void ct_dwarf_abbrev_free(struct ct_dw_abbrevs *t)
{
	if (!t)
		return;
	free(t->list);
	free(t->specs);
	free(t->steps);
	free(t);
}
