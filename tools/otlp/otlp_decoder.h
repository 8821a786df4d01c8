/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the reader of OTLP. otlp_decode.c walks the message and chooses the sample types;
 * otlp_samples.c reads the samples. */
#ifndef CT_OTLP_DECODER_H
#define CT_OTLP_DECODER_H

#include "core/table.h"
#include "otlp/otlp_dictionary.h"

#define OTLP_MAX_TYPES ((size_t)64)

struct ct_otlp_decoder {
	struct ct_otlp_dictionary d;
	/* Profiles' types in the order of the message, and the index that each has in the profile.
	 */
	struct ct_type types[OTLP_MAX_TYPES];
	size_t type_count, scopes, profiles, resources;
	int64_t order[OTLP_MAX_TYPES]; /* as the first scope tells it */
	size_t order_count;
	/* Labels for the present resource's samples, if there are several resources. */
	struct ct_label *of_resource;
	size_t of_resource_count, of_resource_room;
	/* Samples that were read: by sample, its stack in the message. */
	struct ct_table rows;
	uint32_t *row_stack;
	size_t row_room, row_count;
	struct ct_label *labels; /* of one sample */
	size_t label_count, label_room;
	uint32_t *frames;
	size_t frame_room;
};

/* Reads one Sample message, whose value is of sample type TYPE of the profile. */
int ct_otlp_samples_take(struct ct_otlp_decoder *t, struct ct_otlp_bytes body, size_t type);
/* Adds to *LABELS the labels that KEY = V is. */
void ct_otlp_samples_label(struct ct_otlp_decoder *t, const char *key, const Otlp__AnyValue *v,
			   const char *unit);

#endif
