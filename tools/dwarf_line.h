/* Line tables: the source of addresses, and the files of a unit by number. */
#ifndef CT_DWARF_LINE_H
#define CT_DWARF_LINE_H

#include "dwarf_data.h"
#include "dwarf_texts.h"

struct ct_dw_row {
	uint64_t address; /* asked for */
	bool found;
	unsigned file, line, column;
};

struct ct_dw_line_file {
	const char *name;
	uint64_t directory;
	const char *path; /* made when first asked for */
};

struct ct_dw_lines {
	const struct ct_dw_unit *unit;
	uint16_t version;
	uint8_t offset_size, address_size;
	uint8_t min_length, max_ops, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *operands; /* how many each standard opcode has */
	const char **directories;
	size_t directory_count, directory_room;
	struct ct_dw_line_file *files;
	size_t file_count, file_room;
	struct ct_dw_cursor program;
};

/* The table of U, from its file's cache: valid until another unit's is asked for. NULL: it has
 * none, or a malformed one. */
struct ct_dw_lines *ct_dw_lines_of(const struct ct_dw_unit *u);
/* Run the program, and fill the N rows, which are sorted by address. */
void ct_dw_lines_find(const struct ct_dw_lines *l, struct ct_dw_row *rows, size_t n);
/* The path of file NUMBER, joined with its directory and the unit's; NULL: there is none. */
const char *ct_dw_lines_path(struct ct_dw_lines *l, uint64_t number, struct ct_dw_texts *texts);
void ct_dw_lines_free(struct ct_dw_lines *l);

#endif
