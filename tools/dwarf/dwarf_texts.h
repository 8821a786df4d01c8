/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is given back all at once, and texts that are kept once each. */
#ifndef CT_DWARF_TEXTS_H
#define CT_DWARF_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct ct_dw_texts {
	struct ct_dw_piece *pieces;
	const char **table; /* texts by hash */
	size_t count, room;
};

/* Returns N zeroed bytes, aligned for any type; NULL without memory. */
void *ct_dwarf_texts_room(struct ct_dw_texts *t, size_t n);
/* Returns a copy of S, the same copy for equal texts; NULL without memory. */
const char *ct_dwarf_texts_keep(struct ct_dw_texts *t, const char *s, size_t n);
void ct_dwarf_texts_free(struct ct_dw_texts *t);

#endif
