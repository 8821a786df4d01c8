/* SPDX-License-Identifier: BSD-3-Clause */
/* Streaming encoder of pprof's profile.proto. The sink compresses the output.
 *
 * The dump calls this on one thread at a time. Order of calls: open; then mappings, functions,
 * locations and samples in any order; comments; close. Ids are not checked here: the caller hands
 * out 1..N in order of its calls. Memory comes from the writer's own pages. After the first failure
 * every call does nothing, and close returns that error. A NULL text is the same as "".
 */
#ifndef CP_PPROF_H
#define CP_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/intern.h"
#include "output/sink.h"

struct cp_pprof_type {
	const char *type, *unit; /* "cpu", "nanoseconds" */
};

struct cp_pprof_head {
	const struct cp_pprof_type *sample_types; /* count first */
	unsigned sample_type_count;
	struct cp_pprof_type period_type;
	const char *default_sample_type;
	const char *drop_frames; /* as in struct cp_mode_ops, or NULL */
	int64_t period;		 /* in period_type's unit */
	int64_t time_nanos;	/* UTC, start of the window, or the moment that the values are of */
	int64_t duration_nanos; /* length of the window, or 0 */
};

struct cp_pprof_mapping {
	uint64_t start, limit, offset; /* memory range, file offset of start */
	const char *path;
	const char *build_id; /* lower-case hex, "" = none */
	bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct cp_pprof_function {
	const char *name, *system_name, *filename; /* filename "" = unknown */
	int64_t start_line;
};

struct cp_pprof_line {
	uint64_t function_id; /* 1.. */
	int64_t line;	      /* 0 = unknown */
};

struct cp_pprof_label {
	const char *key;
	const char
		*text; /* NULL = numeric; "": the label is left out (the format can't express it) */
	int64_t number;
	const char *unit; /* "" = none; numeric only */
};

/* A label whose strings are in the string table. */
struct cp_pprof_known {
	uint64_t key, text, unit; /* 0 = none */
	int64_t number;
	bool left_out; /* the text is empty */
};

struct cp_pprof {
	struct cp_sink *sink;
	struct cp_intern strings; /* the string table so far */
	unsigned value_count;
	int64_t time_nanos, duration_nanos; /* as in the head */
	int error;			    /* first failure, negative errno; 0 = none */
	uint8_t *scratch; /* complete messages that the sink hasn't got yet, then the message being
			     built */
	size_t scratch_room, scratch_used;
};

/* Open the writer. */
void cp_pprof_open(struct cp_pprof *w, struct cp_sink *sink, const struct cp_pprof_head *head);
void cp_pprof_mapping(struct cp_pprof *w, uint64_t id, const struct cp_pprof_mapping *m);
void cp_pprof_function(struct cp_pprof *w, uint64_t id, const struct cp_pprof_function *f);
/* LINES innermost first; LINE_COUNT may be 0. MAPPING_ID 0 = no mapping. */
void cp_pprof_location(struct cp_pprof *w, uint64_t id, uint64_t mapping_id, uint64_t address,
		       const struct cp_pprof_line *lines, size_t line_count);
/* LOCATION_IDS leaf first. A sample without locations is left out, because readers reject it.
 * VALUES has one value per sample type. */
void cp_pprof_sample(struct cp_pprof *w, const uint64_t *location_ids, size_t depth,
		     const int64_t *values, const struct cp_pprof_known *labels,
		     size_t label_count);
/* Put the strings of a sample's label into the string table. The result is valid as long as the
 * writer is open. */
struct cp_pprof_known cp_pprof_know(struct cp_pprof *w, const struct cp_pprof_label *label);
void cp_pprof_comment(struct cp_pprof *w, const char *text);
/* Write the times and the rest of the string table, and release the writer's memory. Doesn't close
 * the sink. Returns 0 or the first error: -ENOMEM, or the sink's. Text that is not valid UTF-8 is
 * repaired when it is added. */
int cp_pprof_close(struct cp_pprof *w);

#endif
