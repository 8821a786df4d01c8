/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples of a profile as OTLP wants them: numbered stacks, sets of attributes, links, and one
 * row for each combination of these. Used by otlp_encode.c.
 *
 * All numbers are those of the message's tables: 0 is none, the first entry is 1.
 */
#ifndef CT_OTLP_ROWS_H
#define CT_OTLP_ROWS_H

#include "core/model.h"
#include "core/table.h"
#include "otlp/otlp_fields.h"

struct ct_otlp_row {
	uint32_t stack;
	uint32_t set; /* label set of the profile */
};

/* An attribute of the table: one value, or several texts and numbers of the same key. */
struct ct_otlp_entry {
	uint32_t key, unit;    /* strings of TEXTS */
	uint32_t first, count; /* values */
	bool list;
};

/* TEXT is 0 for another kind. */
struct ct_otlp_value {
	uint32_t text; /* string of VALUE_TEXTS + 1 */
	bool truth;    /* NUMBER is a bool */
	int64_t number;
};

struct ct_otlp_link {
	uint8_t trace[OTLP_TRACE_BYTES], span[OTLP_SPAN_BYTES];
};

struct ct_otlp_set {
	uint32_t first, count; /* of set_attributes */
	uint32_t link;
};

struct ct_otlp_rows {
	const struct ct_profile *p;
	struct ct_profile *texts;	/* its strings are the string table */
	struct ct_profile *value_texts; /* its strings are those that attributes have as value */

	struct ct_otlp_row *rows;
	int64_t *values; /* type_count for each row */
	size_t row_count, row_room;
	uint32_t *stack_sample; /* by stack - 1: a sample that has it */
	size_t stack_count, stack_room;

	struct ct_otlp_entry *entries; /* by attribute - 1 */
	struct ct_otlp_value *entry_values;
	size_t entry_count, entry_room, value_count, value_room;
	struct ct_otlp_link *links; /* by link - 1 */
	size_t link_count, link_room;
	struct ct_otlp_set *sets; /* by label set */
	uint32_t *set_attributes;
	size_t set_attribute_count, set_attribute_room;

	struct ct_table stack_table, row_table, entry_table, link_table;
};

void ct_otlp_rows_init(struct ct_otlp_rows *r, const struct ct_profile *p);
void ct_otlp_rows_release(struct ct_otlp_rows *r);

/* Returns the number of a text in the string table. Bytes that are not UTF-8 become '?', because a
 * receiver refuses a whole message for one of them. */
uint32_t ct_otlp_rows_string(struct ct_otlp_rows *r, const char *text);
/* Returns the number of an attribute of the table, which is added if it is new. UNIT may be "". */
uint32_t ct_otlp_rows_attribute(struct ct_otlp_rows *r, const char *key, const char *unit,
				const struct ct_otlp_value *values, size_t count, bool list);
struct ct_otlp_value ct_otlp_rows_value(struct ct_otlp_rows *r, const char *text);
uint32_t ct_otlp_rows_text(struct ct_otlp_rows *r, const char *key, const char *text);
uint32_t ct_otlp_rows_true(struct ct_otlp_rows *r, const char *key);

/* Numbers the attributes of all label sets that samples have (otlp_sets.c). */
void ct_otlp_sets_take(struct ct_otlp_rows *r);

#endif
