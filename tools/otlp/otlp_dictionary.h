/* SPDX-License-Identifier: BSD-3-Clause */
/* The dictionary of an OTLP message that is read: fills the tables of a profile, and keeps what
 * the profile has no table for. Used by otlp_decode.c.
 *
 * Every index that comes from the file is checked here.
 */
#ifndef CT_OTLP_DICTIONARY_H
#define CT_OTLP_DICTIONARY_H

#include "core/input.h"
#include "core/model.h"
#include "otlp/otlp.pb-c.h"
#include "otlp/otlp_cursor.h"

struct ct_otlp_dictionary {
	struct ct_profile *p;
	struct ct_fault *fault;
	/* Entry 0 of a table is left out of the profile if it is empty, as it should be. */
	uint32_t no_mapping, no_location, no_function;
	Otlp__Attribute **attributes;
	size_t attribute_count, attribute_room;
	Otlp__Link **links;
	size_t link_count, link_room;
	struct ct_otlp_bytes *stacks;
	size_t stack_count, stack_room, string_count;
};

/* D's P and FAULT are set. Each returns 0, or a negative errno with the reason in FAULT. */
int ct_otlp_dictionary_read(struct ct_otlp_dictionary *d, struct ct_otlp_bytes message);
void ct_otlp_dictionary_release(struct ct_otlp_dictionary *d);

/* Puts the locations of a stack, as indices of the profile, into FRAMES, which grows. */
int ct_otlp_dictionary_stack(struct ct_otlp_dictionary *d, int32_t index, uint32_t **frames,
			     size_t *room, size_t *depth);
/* Returns the attribute INDEX, or NULL for 0 and for an index that is out of range. */
const Otlp__Attribute *ct_otlp_dictionary_attribute(const struct ct_otlp_dictionary *d,
						    int32_t index);
/* Returns NULL if there is no such string. */
const char *ct_otlp_dictionary_text(const struct ct_otlp_dictionary *d, int32_t index);
/* Returns the key of an attribute that is not in the table; the Collector gives it by index. */
const char *ct_otlp_dictionary_key(const struct ct_otlp_dictionary *d, const Otlp__KeyValue *a);
/* Returns the string that V is, or NULL. */
const char *ct_otlp_dictionary_value(const struct ct_otlp_dictionary *d, const Otlp__AnyValue *v);
int ct_otlp_dictionary_bad(struct ct_otlp_dictionary *d, const char *what);

#endif
