/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses that an entry covers: low and high, .debug_ranges, .debug_rnglists. */
#include <dwarf.h>

#include "dwarf/dwarf.h"

/* Returns where the offsets of the unit's .debug_rnglists begin. In a .debug_rnglists.dwo they
 * begin after the header, because no attribute tells. */
static uint64_t rnglists_base(const struct ct_dw_unit *u)
{
	return u->file->split ? (u->offset_size == 8 ? 20 : 12) : u->rnglists_base;
}

static void begin_list_5(struct ct_dw_ranges *r, const struct ct_dw_unit *u,
			 const struct ct_dw_value *v)
{
	struct ct_dw_bytes b = u->file->section[CT_DW_RNGLISTS];
	uint64_t offset = v->u;

	if (v->form == DW_FORM_rnglistx) {
		uint64_t base = rnglists_base(u), at = base + offset * u->offset_size;
		struct ct_dw_cursor c = ct_dw_cursor(b, offset > b.size ? b.size : at, b.size);

		offset = base + ct_dw_uint(&c, u->offset_size);
		if (c.bad)
			return;
	}
	r->list = ct_dw_cursor(b, offset, b.size);
	r->kind = CT_DW_LIST_5;
}

static void begin_list_2(struct ct_dw_ranges *r, const struct ct_dw_unit *u,
			 const struct ct_dw_value *v)
{
	const struct ct_dw_unit *owner = u->skeleton ? u->skeleton : u;
	struct ct_dw_bytes b = owner->file->section[CT_DW_RANGES];
	uint64_t offset = v->u + (u->skeleton ? owner->ranges_base : 0);

	r->list = ct_dw_cursor(b, offset, b.size);
	r->kind = CT_DW_LIST_2;
}

void ct_dwarf_ranges_begin(struct ct_dw_ranges *r, const struct ct_dw_unit *u,
			   const struct ct_dw_entry *e)
{
	const struct ct_dw_unit *owner = u->skeleton ? u->skeleton : u;
	const struct ct_dw_value *high = &e->at[CT_DW_HIGH_PC];

	*r = (struct ct_dw_ranges){ .unit = u, .base = owner->low, .kind = CT_DW_NO_RANGE };
	if (e->at[CT_DW_AT_RANGES].form) {
		if (u->version >= 5)
			begin_list_5(r, u, &e->at[CT_DW_AT_RANGES]);
		else
			begin_list_2(r, u, &e->at[CT_DW_AT_RANGES]);
		return;
	}
	if (!high->form || !ct_dwarf_form_address(u, &e->at[CT_DW_LOW_PC], &r->low))
		return;
	if (!ct_dwarf_form_address(u, high, &r->high))
		r->high = r->low + high->u;
	r->kind = CT_DW_ONE_RANGE;
}

static bool next_2(struct ct_dw_ranges *r, uint64_t *low, uint64_t *high)
{
	unsigned size = r->unit->address_size;
	uint64_t all_ones = size == 8 ? UINT64_MAX : UINT32_MAX;

	for (;;) {
		uint64_t from = ct_dw_uint(&r->list, size), to = ct_dw_uint(&r->list, size);

		if (r->list.bad || (!from && !to))
			return false;
		if (from == all_ones) {
			r->base = to;
			continue;
		}
		*low = r->base + from;
		*high = r->base + to;
		return true;
	}
}

static uint64_t indexed(struct ct_dw_ranges *r)
{
	uint64_t address = 0;

	if (!ct_dwarf_form_indexed_address(r->unit, ct_dw_uleb(&r->list), &address))
		r->list.bad = true;
	return address;
}

static bool next_5(struct ct_dw_ranges *r, uint64_t *low, uint64_t *high)
{
	unsigned size = r->unit->address_size;

	while (!r->list.bad) {
		switch (ct_dw_uint(&r->list, 1)) {
		case DW_RLE_base_addressx: r->base = indexed(r); continue;
		case DW_RLE_base_address: r->base = ct_dw_uint(&r->list, size); continue;
		case DW_RLE_startx_endx:
			*low = indexed(r);
			*high = indexed(r);
			break;
		case DW_RLE_startx_length:
			*low = indexed(r);
			*high = *low + ct_dw_uleb(&r->list);
			break;
		case DW_RLE_offset_pair:
			*low = r->base + ct_dw_uleb(&r->list);
			*high = r->base + ct_dw_uleb(&r->list);
			break;
		case DW_RLE_start_end:
			*low = ct_dw_uint(&r->list, size);
			*high = ct_dw_uint(&r->list, size);
			break;
		case DW_RLE_start_length:
			*low = ct_dw_uint(&r->list, size);
			*high = *low + ct_dw_uleb(&r->list);
			break;
		default: return false; /* the end, or an unknown kind */
		}
		return !r->list.bad;
	}
	return false;
}

static bool next_range(struct ct_dw_ranges *r, uint64_t *low, uint64_t *high)
{
	switch (r->kind) {
	case CT_DW_ONE_RANGE:
		*low = r->low;
		*high = r->high;
		r->kind = CT_DW_NO_RANGE;
		return true;
	case CT_DW_LIST_2: return next_2(r, low, high);
	case CT_DW_LIST_5: return next_5(r, low, high);
	default: return false;
	}
}

bool ct_dwarf_ranges_next(struct ct_dw_ranges *r, uint64_t *low, uint64_t *high)
{
	while (next_range(r, low, high))
		if (*low < *high && *low >= r->unit->file->text_low)
			return true;
	return false;
}
