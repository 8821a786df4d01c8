/* SPDX-License-Identifier: BSD-3-Clause */
/* Split units: .dwo files and packages of them (.dwp); see dwarf.h. */
#include <dwarf.h>
#include <stdlib.h>

#include "core/core.h"
#include "dwarf/dwarf.h"

/* ---- the index of a package ---- */

struct index {
	struct ct_dw_bytes bytes;
	bool five; /* section numbers are those of DWARF 5 */
	uint32_t columns, units, slots;
	uint64_t ids, rows, headings, offsets, sizes; /* where the tables begin */
};

static uint32_t index_word(const struct index *x, uint64_t at)
{
	struct ct_dw_cursor c = ct_dw_cursor(x->bytes, at, x->bytes.size);

	return (uint32_t)ct_dw_uint(&c, 4);
}

static uint64_t id_at(const struct index *x, uint32_t slot)
{
	struct ct_dw_cursor c = ct_dw_cursor(x->bytes, x->ids + 8ull * slot, x->bytes.size);

	return ct_dw_uint(&c, 8);
}

static bool open_index(struct index *x, struct ct_dw_bytes b)
{
	*x = (struct index){ .bytes = b };
	if (b.size < 16)
		return false;
	x->five = (index_word(x, 0) & 0xffff) == 5;
	x->columns = index_word(x, 4);
	x->units = index_word(x, 8);
	x->slots = index_word(x, 12);
	if ((!x->five && index_word(x, 0) != 2) || x->columns > 8 || x->units > b.size ||
	    x->slots > b.size || !x->slots || x->slots & (x->slots - 1))
		return false;
	x->ids = 16;
	x->rows = x->ids + 8ull * x->slots;
	x->headings = x->rows + 4ull * x->slots;
	x->offsets = x->headings + 4ull * x->columns;
	x->sizes = x->offsets + 4ull * x->units * x->columns;
	return x->sizes + 4ull * x->units * x->columns <= b.size;
}

/* Returns the row of ID, counted from 1, or 0. */
static uint32_t row_of(const struct index *x, uint64_t id)
{
	uint32_t mask = x->slots - 1, slot = (uint32_t)id & mask;
	uint32_t step = ((uint32_t)(id >> 32) & mask) | 1;

	for (uint32_t tries = 0; tries < x->slots; tries++, slot = (slot + step) & mask) {
		uint32_t row = index_word(x, x->rows + 4ull * slot);

		if (!row)
			return 0;
		if (id_at(x, slot) == id)
			return row <= x->units ? row : 0;
	}
	return 0;
}

static int section_of(const struct index *x, uint32_t heading)
{
	switch (heading) {
	case 1: return CT_DW_INFO;
	case 3: return CT_DW_ABBREV;
	case 4: return CT_DW_LINE;
	case 6: return CT_DW_STR_OFFSETS;
	case 8: return x->five ? CT_DW_RNGLISTS : -1;
	default: return -1;
	}
}

static void cut_section(struct ct_dw_file *f, const struct index *x, uint32_t row)
{
	for (uint32_t i = 0; i < x->columns; i++) {
		uint64_t cell = 4ull * ((row - 1) * (uint64_t)x->columns + i);
		uint32_t offset = index_word(x, x->offsets + cell),
			 size = index_word(x, x->sizes + cell);
		int which = section_of(x, index_word(x, x->headings + 4ull * i));
		struct ct_dw_bytes *b = which < 0 ? NULL : &f->section[which];

		if (!b)
			continue;
		if (offset > b->size || size > b->size - offset)
			*b = (struct ct_dw_bytes){ 0 };
		else
			*b = (struct ct_dw_bytes){ b->data + offset, size };
	}
}

static bool from_package(struct ct_dw_file *f, const struct ct_dw_file *package, uint64_t id)
{
	struct index x;
	uint32_t row;

	if (!package || !open_index(&x, package->section[CT_DW_CU_INDEX]))
		return false;
	row = row_of(&x, id);
	if (!row)
		return false;
	*f = (struct ct_dw_file){ .fd = -1, .split = true };
	memcpy(f->section, package->section, sizeof(f->section));
	cut_section(f, &x, row);
	return true;
}

/* ---- .dwo files ---- */

static bool open_joined(struct ct_dw_file *f, const char *a, size_t n, const char *b)
{
	char *path = ct_memory_printf("%.*s/%s", (int)n, a, b);
	int err = ct_dwarf_file_open(f, path, true);

	free(path);
	return !err;
}

/* Opens the .dwo file of SKELETON where the compiler wrote it, else beside the module PATH, in case
 * both were moved. Returns false if it is at neither place. */
static bool from_dwo(struct ct_dw_file *f, const struct ct_dw_unit *skeleton, const char *path)
{
	const char *name = skeleton->dwo_name, *slash = strrchr(path, '/');
	const char *base = strrchr(name, '/');
	const char *directory = skeleton->directory;

	if (*name == '/' && !ct_dwarf_file_open(f, name, true))
		return true;
	if (*name != '/' && directory && open_joined(f, directory, strlen(directory), name))
		return true;
	if (!slash)
		return false;
	return (*name != '/' && open_joined(f, path, (size_t)(slash - path), name)) ||
	       (base && open_joined(f, path, (size_t)(slash - path), base + 1));
}

static struct ct_dw_unit *with_id(struct ct_dw_file *f, uint64_t id)
{
	ct_dwarf_unit_read(f);
	for (size_t i = 0; i < f->unit_count; i++) {
		ct_dwarf_unit_begin(&f->units[i]);
		if (f->units[i].id == id)
			return &f->units[i];
	}
	return NULL;
}

struct ct_dw_unit *ct_dwarf_split_open(struct ct_dw_unit *skeleton,
				       const struct ct_dw_file *package, const char *path)
{
	struct ct_dw_file *f = ct_memory_alloc(sizeof(*f));
	struct ct_dw_unit *u;

	if (!from_package(f, package, skeleton->id) && !from_dwo(f, skeleton, path)) {
		free(f);
		return NULL;
	}
	f->text_low = skeleton->file->text_low;
	u = with_id(f, skeleton->id);
	if (u) {
		u->skeleton = skeleton;
		return u;
	}
	ct_dwarf_file_close(f);
	free(f);
	return NULL;
}
