/* SPDX-License-Identifier: BSD-3-Clause */
/* The dictionary of an OTLP message: the tables that samples refer to. Used by otlp_encode.c. */
#ifndef CT_OTLP_TABLES_H
#define CT_OTLP_TABLES_H

#include "otlp/otlp_out.h"
#include "otlp/otlp_rows.h"

struct ct_otlp_tables {
	struct ct_otlp_rows *rows;
	/* By the profile's index: the number in the message's table, 0 = not in it. */
	uint32_t *location_at, *function_at, *mapping_at;
	/* By number - 1: the profile's index. */
	uint32_t *locations, *functions, *mappings;
	size_t location_count, function_count, mapping_count;
	uint32_t **location_attributes, **mapping_attributes; /* 0 ends them; may be NULL */
};

/* Chooses and numbers all that the rows need, and adds their texts and attributes to ROWS. */
void ct_otlp_tables_init(struct ct_otlp_tables *t, struct ct_otlp_rows *rows);
void ct_otlp_tables_release(struct ct_otlp_tables *t);
/* Writes the fields of a ProfilesDictionary. Nothing may be added to the rows' texts after the
 * first call. */
void ct_otlp_tables_write(const struct ct_otlp_tables *t, struct ct_otlp_out *o);

#endif
