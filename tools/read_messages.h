/* The half of the reader that knows what the messages mean; used by read.c only. */
#ifndef CT_READ_MESSAGES_H
#define CT_READ_MESSAGES_H

#include <protobuf-c/protobuf-c.h>

#include "ids.h"
#include "input.h"
#include "profile.h"

/* Memory of one unpacked message, all given back at once. */
struct ct_scratch {
	struct ct_scratch_block *blocks;
};

struct ct_messages {
	struct ct_profile *p;
	struct ct_fault *fault;
	uint64_t offset; /* of the message at hand */
	struct ct_scratch scratch;
	ProtobufCAllocator allocator;
	struct ct_ids location_ids, function_ids, mapping_ids;
	/* By number: index + 1 in the profile's table, 0 = mentioned but not (yet) seen. */
	uint32_t *location_at, *function_at, *mapping_at;
	size_t location_room, function_room, mapping_room;
	uint32_t *frames; /* of one sample */
	size_t frame_room;
	size_t types_seen, strings_seen;
};

void ct_messages_init(struct ct_messages *m, struct ct_profile *p, struct ct_fault *fault);
void ct_messages_release(struct ct_messages *m);

/* One message's body, each 0 or a negative errno with the fault filled in. */
int ct_messages_type(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_messages_period_type(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_messages_sample(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_messages_mapping(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_messages_location(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_messages_function(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_messages_string(struct ct_messages *m, const uint8_t *data, size_t size);
int ct_messages_comment(struct ct_messages *m, uint64_t string);
/* A singular string index of the top level; it is checked at the end. */
int ct_messages_index(struct ct_messages *m, uint64_t string, uint32_t *to);

/* Everything is read: ids become indices, and every index is checked. */
int ct_messages_finish(struct ct_messages *m);

#endif
