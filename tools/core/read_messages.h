/* SPDX-License-Identifier: BSD-3-Clause */
/* The half of the reader that knows the meaning of the messages; used by read.c only. */
#ifndef CT_READ_MESSAGES_H
#define CT_READ_MESSAGES_H

#include <protobuf-c/protobuf-c.h>

#include "core/ids.h"
#include "core/input.h"
#include "core/model.h"

/* Memory of one unpacked message, which is freed all at once. */
struct ct_scratch {
	struct ct_scratch_block *blocks;
};

struct ct_messages {
	struct ct_profile *p;
	struct ct_fault *fault;
	uint64_t offset; /* offset of the current message */
	struct ct_scratch scratch;
	ProtobufCAllocator allocator;
	struct ct_ids location_ids, function_ids, mapping_ids;
	/* By number: index + 1 in the profile's table; 0 = mentioned, but not (yet) read. */
	uint32_t *location_at, *function_at, *mapping_at;
	size_t location_room, function_room, mapping_room;
	uint32_t *frames; /* of one sample */
	size_t frame_room;
	size_t types_seen, strings_seen;
};

void ct_read_messages_init(struct ct_messages *m, struct ct_profile *p, struct ct_fault *fault);
void ct_read_messages_release(struct ct_messages *m);

/* Each of these reads one message's body, and returns 0, or a negative errno with the reason in
 * FAULT. */
int ct_read_messages_type(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_read_messages_period_type(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_read_messages_sample(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_read_messages_mapping(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_read_messages_location(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_read_messages_function(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_read_messages_string(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_read_messages_comment(struct ct_messages *m, uint64_t string);
/* Reads a string index of the top level that may occur once; it is checked at the end. */
int ct_read_messages_index(struct ct_messages *m, uint64_t string, uint32_t *to);

/* Ends the reading: turns ids into indices, and checks every index. */
int ct_read_finish(struct ct_messages *m);

#endif
