/* Streaming encoder of pprof's profile.proto (gzip is the sink's business).
 *
 * Called by the dump, on one thread at a time. Order of calls: open, then
 * mappings, functions, locations and samples in any order (ids are checked by
 * nobody here: the caller hands out 1..N in order of its calls), comments, close.
 * Memory is pages of the writer's own. After the first failure every call does
 * nothing, and close returns that error. A NULL text is the same as "".
 */
#ifndef CP_PPROF_H
#define CP_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "intern.h"
#include "sink.h"

struct cp_pprof_type {
	const char *type, *unit; /* "cpu", "nanoseconds" */
};

struct cp_pprof_head {
	const struct cp_pprof_type *sample_types; /* 1..4, count first */
	unsigned sample_type_count;
	struct cp_pprof_type period_type;
	const char *default_sample_type;
	int64_t period;		/* in period_type's unit */
	int64_t time_nanos;	/* UTC, start of the window */
	int64_t duration_nanos; /* its length */
};

struct cp_pprof_mapping {
	uint64_t start, limit, offset; /* memory range, file offset of start */
	const char *path;
	const char *build_id; /* lower-case hex, "" = none */
	bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct cp_pprof_function {
	const char *name, *system_name, *filename; /* filename "" = not known */
	int64_t start_line;
};

struct cp_pprof_line {
	uint64_t function_id; /* 1.. */
	int64_t line;	      /* 0 = not known */
};

struct cp_pprof_label {
	const char *key;
	const char *text; /* NULL = numeric; "": the label is left out (the format can't say it) */
	int64_t number;
	const char *unit; /* "" = none; numeric only */
};

/* A label whose texts are in the string table. */
struct cp_pprof_known {
	uint64_t key, text, unit; /* 0 = none */
	int64_t number;
	bool left_out; /* its text is empty */
};

struct cp_pprof {
	struct cp_sink *sink;
	struct cp_intern strings; /* the string table so far */
	size_t strings_written;	  /* of these */
	unsigned value_count;
	int64_t time_nanos, duration_nanos; /* as in the head */
	int error;			    /* first failure, negative errno; 0 = none */
	uint8_t *scratch; /* whole messages not yet given to the sink, then the one being built */
	size_t scratch_room, scratch_used;
};

void cp_pprof_open(struct cp_pprof *w, struct cp_sink *sink, const struct cp_pprof_head *head);
void cp_pprof_mapping(struct cp_pprof *w, uint64_t id, const struct cp_pprof_mapping *m);
void cp_pprof_function(struct cp_pprof *w, uint64_t id, const struct cp_pprof_function *f);
/* LINES innermost first; LINE_COUNT may be 0. MAPPING_ID 0 = none. */
void cp_pprof_location(struct cp_pprof *w, uint64_t id, uint64_t mapping_id, uint64_t address,
		       const struct cp_pprof_line *lines, size_t line_count);
/* LOCATION_IDS leaf first, >= 1 of them (none: the sample is left out, readers reject it);
 * VALUES as many as sample types. */
void cp_pprof_sample(struct cp_pprof *w, const uint64_t *location_ids, size_t depth,
		     const int64_t *values, const struct cp_pprof_known *labels,
		     size_t label_count);
/* For labels of samples; stays good as long as the writer is open. */
struct cp_pprof_known cp_pprof_know(struct cp_pprof *w, const struct cp_pprof_label *label);
void cp_pprof_comment(struct cp_pprof *w, const char *text);
/* What was written so far is what another profile will begin with; its head may have other times.
 */
void cp_pprof_mark(struct cp_pprof *w);
/* Writes the times and the rest of the string table, releases the writer's memory; does not close
 * the sink. 0 or the first error: -ENOMEM, or the sink's. Text that is not valid UTF-8 is repaired
 * on the way in. */
int cp_pprof_close(struct cp_pprof *w);

#endif
