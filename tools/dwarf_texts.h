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

/* N bytes, zeroed, aligned for anything; NULL: no memory. */
void *ct_dw_texts_room(struct ct_dw_texts *t, size_t n);
/* A copy of S that is the same for equal texts; NULL: no memory. */
const char *ct_dw_texts_keep(struct ct_dw_texts *t, const char *s, size_t n);
void ct_dw_texts_free(struct ct_dw_texts *t);

#endif
