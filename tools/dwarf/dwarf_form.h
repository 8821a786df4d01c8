/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of attributes. */
#ifndef CT_DWARF_FORM_H
#define CT_DWARF_FORM_H

#include "dwarf/dwarf_data.h"

struct ct_dw_value {
	uint16_t form; /* 0 = absent */
	uint64_t u;
	const char *text; /* DW_FORM_string */
};

/* Steps over a value that has no fixed size; see ct_dwarf_form_size. */
enum {
	CT_DW_LEB = -1,
	CT_DW_TEXT = -2,
	CT_DW_BLOCK = -3,
	CT_DW_BLOCK1 = -4,
	CT_DW_BLOCK2 = -5,
	CT_DW_BLOCK4 = -6,
	CT_DW_INDIRECT = -7,
	CT_DW_UNKNOWN = -8
};

/* The size in bytes of a value of FORM, or one of the constants above. */
int ct_dwarf_form_size(uint16_t form, uint16_t version, uint8_t address_size, uint8_t offset_size);
/* Reads the value at C and moves C past it. An unknown form marks C as bad. */
struct ct_dw_value ct_dwarf_form_read(const struct ct_dw_unit *u, struct ct_dw_cursor *c,
				      uint16_t form, int64_t implicit);

/* Return the value's meaning in U, or NULL or false if the value is not of that class. */
const char *ct_dwarf_form_text(const struct ct_dw_unit *u, const struct ct_dw_value *v);
bool ct_dwarf_form_address(const struct ct_dw_unit *u, const struct ct_dw_value *v, uint64_t *to);
/* Gets the entry that V refers to, as an offset in FILE's .debug_info. Returns false if V refers to
 * none. */
bool ct_dwarf_form_entry(const struct ct_dw_unit *u, const struct ct_dw_value *v,
			 struct ct_dw_file **file, uint64_t *offset);
/* Gets address INDEX of U's part of .debug_addr. Returns false if there is no such address. */
bool ct_dwarf_form_indexed_address(const struct ct_dw_unit *u, uint64_t index, uint64_t *to);

#endif
