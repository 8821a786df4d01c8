/* Values of attributes. */
#ifndef CT_DWARF_FORM_H
#define CT_DWARF_FORM_H

#include "dwarf_data.h"

struct ct_dw_value {
	uint16_t form; /* 0 = absent */
	uint64_t u;
	const char *text; /* DW_FORM_string */
};

/* Steps over a value that has no fixed size; see ct_dw_form_size. */
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

/* Bytes of a value of FORM, or one of the above. */
int ct_dw_form_size(uint16_t form, uint16_t version, uint8_t address_size, uint8_t offset_size);
/* Read the value at C, which moves behind it. A form that we don't know turns C bad. */
struct ct_dw_value ct_dw_form_read(const struct ct_dw_unit *u, struct ct_dw_cursor *c,
				   uint16_t form, int64_t implicit);

/* What a value means in U: NULL or false where it doesn't have that class. */
const char *ct_dw_form_text(const struct ct_dw_unit *u, const struct ct_dw_value *v);
bool ct_dw_form_address(const struct ct_dw_unit *u, const struct ct_dw_value *v, uint64_t *to);
/* The entry that V refers to: its offset in FILE's .debug_info. */
bool ct_dw_form_entry(const struct ct_dw_unit *u, const struct ct_dw_value *v,
		      struct ct_dw_file **file, uint64_t *offset);
/* The INDEXth address of U's part of .debug_addr. */
bool ct_dw_form_indexed_address(const struct ct_dw_unit *u, uint64_t index, uint64_t *to);

#endif
