/* SPDX-License-Identifier: BSD-3-Clause */
/* Line tables: the file and line of an address, and the files of a unit by number. */
#ifndef CT_DWARF_LINE_H
#define CT_DWARF_LINE_H

#include "dwarf/dwarf_data.h"
#include "dwarf/dwarf_texts.h"

struct ct_dw_row {
	uint64_t address; /* asked for */
	bool found;
	unsigned file, line, column;
};

struct ct_dw_line_file {
	const char *name;
	uint64_t directory;
	const char *path; /* made when it is first needed */
};

struct ct_dw_lines {
	const struct ct_dw_unit *unit;
	uint16_t version;
	uint8_t offset_size, address_size;
	uint8_t min_length, max_ops, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *operands; /* number of operands of each standard opcode */
	const char **directories;
	size_t directory_count, directory_room;
	struct ct_dw_line_file *files;
	size_t file_count, file_room;
	struct ct_dw_cursor program;
};

/* Returns the table of U from its file's cache; it is valid until the table of another unit is
 * requested. NULL: there is none, or it is malformed. */
struct ct_dw_lines *ct_dwarf_line_of(const struct ct_dw_unit *u);
/* Runs the line program, and fills in the N rows, which are sorted by address. */
void ct_dwarf_rows_find(const struct ct_dw_lines *l, struct ct_dw_row *rows, size_t n);
/* Returns the path of file NUMBER, joined with its directory and the unit's; NULL if there is no
 * such file. */
const char *ct_dwarf_line_path(struct ct_dw_lines *l, uint64_t number, struct ct_dw_texts *texts);
void ct_dwarf_line_free(struct ct_dw_lines *l);

#endif
