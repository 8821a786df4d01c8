/* SPDX-License-Identifier: BSD-3-Clause */
/* The header of a line table: directories and files; see dwarf.h. */
#include "dwarf/dwarf.h"

#include "core/core.h"

#include <dwarf.h>
#include <stdlib.h>

#define FILES_MAX (1u << 20)

static bool add_directory(struct ct_dw_lines *l, const char *name)
{
	if (l->directory_count == FILES_MAX)
		return false;
	*CT_PUSH(l->directories, l->directory_count, l->directory_room) = name;
	return true;
}

static bool add_file(struct ct_dw_lines *l, const char *name, uint64_t directory)
{
	if (l->file_count == FILES_MAX)
		return false;
	*CT_PUSH(l->files, l->file_count, l->file_room) =
		(struct ct_dw_line_file){ name, directory, NULL };
	return true;
}

/* Up to DWARF 4, directories and files count from 1. Number 0 means the unit's own directory, and
 * no file. */
static bool read_tables_2(struct ct_dw_lines *l, struct ct_dw_cursor *c)
{
	const char *name;

	if (!add_directory(l, NULL) || !add_file(l, NULL, 0))
		return false;
	while ((name = ct_dw_text(c)) && *name)
		if (!add_directory(l, name))
			return false;
	while ((name = ct_dw_text(c)) && *name) {
		uint64_t directory = ct_dw_uleb(c);

		ct_dw_uleb(c);
		ct_dw_uleb(c);
		if (!add_file(l, name, directory))
			return false;
	}
	return !c->bad;
}

struct format {
	uint64_t content[16], form[16];
	unsigned count;
};

static bool read_format(struct ct_dw_cursor *c, struct format *f)
{
	f->count = (unsigned)ct_dw_uint(c, 1);
	if (f->count > 16)
		return false;
	for (unsigned i = 0; i < f->count; i++) {
		f->content[i] = ct_dw_uleb(c);
		f->form[i] = ct_dw_uleb(c);
	}
	return !c->bad;
}

static bool read_table_5(struct ct_dw_lines *l, struct ct_dw_cursor *c, bool files)
{
	struct ct_dw_unit as = *l->unit;
	struct format f;
	uint64_t count;

	/* Reads a table that states its own widths, with the unit's sections. */
	as.offset_size = l->offset_size;
	as.address_size = l->address_size;
	as.version = 5;
	if (!read_format(c, &f))
		return false;
	count = ct_dw_uleb(c);
	for (uint64_t n = 0; n < count && !c->bad && f.count; n++) {
		const char *name = NULL;
		uint64_t directory = 0;

		for (unsigned i = 0; i < f.count; i++) {
			struct ct_dw_value v = ct_dwarf_form_read(&as, c, (uint16_t)f.form[i], 0);

			if (f.content[i] == DW_LNCT_path)
				name = ct_dwarf_form_text(&as, &v);
			else if (f.content[i] == DW_LNCT_directory_index)
				directory = v.u;
		}
		if (!(files ? add_file(l, name, directory) : add_directory(l, name)))
			return false;
	}
	return !c->bad;
}

static bool read_header(struct ct_dw_lines *l, struct ct_dw_cursor *c)
{
	uint64_t header;

	l->version = (uint16_t)ct_dw_uint(c, 2);
	if (l->version < 2 || l->version > 5)
		return false;
	l->address_size = l->unit->address_size;
	if (l->version >= 5) {
		l->address_size = (uint8_t)ct_dw_uint(c, 1);
		ct_dw_uint(c, 1);
	}
	header = ct_dw_uint(c, l->offset_size);
	l->program = *c;
	ct_dw_skip(&l->program, header);
	l->min_length = (uint8_t)ct_dw_uint(c, 1);
	l->max_ops = l->version >= 4 ? (uint8_t)ct_dw_uint(c, 1) : 1;
	ct_dw_uint(c, 1); /* default_is_stmt: not needed, because every row counts */
	l->line_base = (int8_t)ct_dw_uint(c, 1);
	l->line_range = (uint8_t)ct_dw_uint(c, 1);
	l->opcode_base = (uint8_t)ct_dw_uint(c, 1);
	l->operands = c->p;
	ct_dw_skip(c, l->opcode_base ? l->opcode_base - 1u : 0);
	if (c->bad || l->program.bad || !l->line_range || !l->opcode_base || !l->max_ops ||
	    (l->address_size != 8 && l->address_size != 4))
		return false;
	return l->version >= 5 ? read_table_5(l, c, false) && read_table_5(l, c, true)
			       : read_tables_2(l, c);
}

static struct ct_dw_lines *read_lines(const struct ct_dw_unit *u)
{
	struct ct_dw_bytes b = u->file->section[CT_DW_LINE];
	struct ct_dw_cursor c = ct_dw_cursor(b, u->lines, b.size), body;
	struct ct_dw_lines *l = ct_memory_alloc(sizeof(*l));

	l->unit = u;
	body = ct_dw_sub(&c, &l->offset_size);
	if (!body.bad && read_header(l, &body))
		return l;
	ct_dwarf_line_free(l);
	return NULL;
}

struct ct_dw_lines *ct_dwarf_line_of(const struct ct_dw_unit *unit)
{
	const struct ct_dw_unit *u = unit->skeleton ? unit->skeleton : unit;
	uint64_t hash = (u->lines * UINT64_C(0x9e3779b97f4a7c15)) >> 40;
	struct ct_dw_lines **slot = &u->file->lines[hash % CT_DW_CACHED];

	if (!u->has_lines)
		return NULL;
	if (!*slot || (*slot)->unit->lines != u->lines) {
		ct_dwarf_line_free(*slot);
		*slot = read_lines(u);
	}
	return *slot;
}

/* Returns A/B, or B alone if B is an absolute path or A is empty. */
static const char *join_path(struct ct_dw_texts *t, const char *a, const char *b)
{
	size_t la = a ? strlen(a) : 0, lb = strlen(b);
	char *text;
	const char *kept;

	if (*b == '/' || !la)
		return ct_dwarf_texts_keep(t, b, lb);
	while (la > 1 && a[la - 1] == '/')
		la--;
	text = ct_memory_printf("%.*s/%s", (int)la, a, b);
	kept = ct_dwarf_texts_keep(t, text, la + 1 + lb);
	free(text);
	return kept;
}

const char *ct_dwarf_line_path(struct ct_dw_lines *l, uint64_t number, struct ct_dw_texts *texts)
{
	struct ct_dw_line_file *f;
	const char *directory = NULL;

	if (number >= l->file_count || !l->files[number].name || !*l->files[number].name)
		return NULL;
	f = &l->files[number];
	if (f->path)
		return f->path;
	if (f->directory < l->directory_count)
		directory = l->directories[f->directory];
	if (directory && l->unit->directory)
		directory = join_path(texts, l->unit->directory, directory);
	else if (!directory)
		directory = l->unit->directory;
	f->path = join_path(texts, directory, f->name);
	/* A prefix map of the build makes the path relative to an unknown directory. */
	if (f->path && *f->path != '/' && strncmp(f->path, "./", 2))
		f->path = join_path(texts, ".", f->path);
	return f->path;
}

void ct_dwarf_line_free(struct ct_dw_lines *l)
{
	if (!l)
		return;
	free(l->directories);
	free(l->files);
	free(l);
}
