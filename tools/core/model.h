/* SPDX-License-Identifier: BSD-3-Clause */
/* A profile in memory: the contents of pprof's format, with ids turned into indices.
 *
 * Made by read.c, changed by the verbs, written by write.c. Compact, because a file may hold
 * millions of samples: FRAMES has all stacks one after the other, VALUES has all values, equal
 * label sets are kept once, and text is an index into STRINGS.
 *
 * Invariant: every index is in range (the reader checks this); strings[0] is "". If memory runs
 * out, the process ends with a message: it is a tool, so nothing is lost.
 */
#ifndef CT_PROFILE_H
#define CT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CT_NONE UINT32_MAX /* no mapping, no function */

struct ct_type {
	uint32_t type, unit; /* strings: "cpu", "nanoseconds" */
};

struct ct_mapping {
	uint64_t start, limit, offset;
	uint32_t file, build_id; /* strings */
	bool has_functions, has_filenames, has_lines, has_inlines;
};

struct ct_function {
	uint32_t name, system_name, filename; /* strings */
	int64_t start_line;
};

struct ct_line {
	uint32_t function; /* index, or CT_NONE */
	uint32_t column;
	int64_t line;
};

/* Lines are lines[first_line .. first_line + line_count - 1], innermost first. */
struct ct_location {
	uint64_t address;
	uint32_t mapping; /* index, or CT_NONE */
	uint32_t first_line, line_count;
	bool folded;
};

/* TEXT is 0 for a number. */
struct ct_label {
	uint32_t key, text, unit; /* strings */
	int64_t number;
};

/* Labels are labels[first .. first + count - 1]; set 0 is the empty one. */
struct ct_label_set {
	uint32_t first, count;
};

/* The stack is frames[first_frame .. first_frame + depth - 1], location indices, leaf
 * first; values are values[i * type_count ...] for sample I. */
struct ct_sample {
	uint64_t first_frame;
	uint32_t depth;
	uint32_t label_set;
};

struct ct_profile {
	struct ct_type *types;
	struct ct_sample *samples;
	int64_t *values;
	uint32_t *frames;
	struct ct_label_set *label_sets;
	struct ct_label *labels;
	struct ct_mapping *mappings;
	struct ct_location *locations;
	struct ct_line *lines;
	struct ct_function *functions;
	const char **strings;
	uint32_t *comments; /* strings */

	size_t type_count, sample_count, frame_count, label_set_count, label_count, mapping_count,
		location_count, line_count, function_count, string_count, comment_count;

	struct ct_type period_type;
	int64_t period, time_nanos, duration_nanos;
	uint32_t default_type, drop_frames, keep_frames, doc_url; /* strings */

	struct ct_profile_own *own; /* rooms, text memory, indices: private to model.c */
};

/* Makes an empty profile, with string 0 and label set 0. */
struct ct_profile *ct_model_new(void);
void ct_model_free(struct ct_profile *p);

static inline const char *ct_text(const struct ct_profile *p, uint32_t string)
{
	return p->strings[string];
}

/* Each of these appends a copy of its arguments and returns the index. */
uint32_t ct_model_add_type(struct ct_profile *p, struct ct_type t);
uint32_t ct_model_add_mapping(struct ct_profile *p, const struct ct_mapping *m);
uint32_t ct_model_add_function(struct ct_profile *p, const struct ct_function *f);
/* LINES become the location's lines; first_line and line_count of LOCATION are filled in. */
uint32_t ct_model_add_location(struct ct_profile *p, const struct ct_location *l,
			       const struct ct_line *lines, size_t line_count);
void ct_model_add_comment(struct ct_profile *p, uint32_t string);
/* FRAMES are leaf first; VALUES has one value for each type. */
uint32_t ct_model_add_sample(struct ct_profile *p, const uint32_t *frames, size_t depth,
			     const int64_t *values, uint32_t label_set);

/* Returns the index of a text, which is added if it is new. */
uint32_t ct_model_string(struct ct_profile *p, const char *text);
/* Appends N bytes as a string, even if an equal string exists. For the reader, whose indices are
 * those of the file. NUL bytes become '?'. */
uint32_t ct_model_append_string(struct ct_profile *p, const char *text, size_t n);
/* Returns the index of a set of labels, which is added if it is new. */
uint32_t ct_model_label_set(struct ct_profile *p, const struct ct_label *labels, size_t count);
/* Removes strings that nothing refers to; the indices of the others change. */
void ct_model_drop_strings(struct ct_profile *p);
/* Replaces a location's lines (symbolization). */
void ct_model_set_lines(struct ct_profile *p, uint32_t location, const struct ct_line *lines,
			size_t line_count);

static inline const uint32_t *ct_frames(const struct ct_profile *p, const struct ct_sample *s)
{
	return p->frames + s->first_frame;
}

static inline int64_t *ct_values(const struct ct_profile *p, size_t sample)
{
	return p->values + sample * p->type_count;
}

/* Returns the index of the sample type that is shown if no option names one: the profile's default
 * type, else the last. */
size_t ct_model_default_type(const struct ct_profile *p);
/* Returns whether values of type INDEX are of a moment, such as the memory in use: in a window they
 * are those of its end, and those of two windows don't add up. */
bool ct_model_is_of_moment(const struct ct_profile *p, size_t index);

#endif
