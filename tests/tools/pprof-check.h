/* SPDX-License-Identifier: BSD-3-Clause */
/* A strict validator for profiles: the conditions under which every reader of pprof files shows a
 * file correctly. Test code: ordinary libc, and a decoder that shares nothing with the library's
 * encoder.
 *
 * Reading never stops at the first broken rule: each is reported with a short name
 * ("utf8", "duplicate-sample"), which the tests of the validator ask for.
 */
#ifndef PPROF_CHECK_H
#define PPROF_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pcheck_report {
	FILE *out;	  /* one line a broken rule; NULL = silent */
	const char *file; /* named in those lines */
	unsigned broken;  /* how many */
	char rules[2048]; /* " name name ...", each name once, in order */
};

void pcheck_bad(struct pcheck_report *r, const char *rule, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Was RULE reported? */
bool pcheck_was(const struct pcheck_report *r, const char *rule);

/* The profile as the file has it: references are still indices and ids. */
struct pcheck_string {
	char *text; /* NUL behind it */
	size_t length;
	bool used;
};

struct pcheck_type {
	uint64_t type, unit;
};

struct pcheck_label {
	uint64_t key, text, number, unit;
};

struct pcheck_numbers {
	uint64_t *items;
	size_t count;
};

struct pcheck_sample {
	struct pcheck_numbers locations, values;
	struct pcheck_label *labels;
	size_t label_count;
};

struct pcheck_mapping {
	uint64_t id, start, limit, offset, path, build_id;
	uint64_t functions, filenames, lines, inlines; /* has_* */
};

struct pcheck_line {
	uint64_t function, line, column;
};

struct pcheck_location {
	uint64_t id, mapping, address, folded;
	struct pcheck_line *lines;
	size_t line_count;
	bool used;
};

struct pcheck_function {
	uint64_t id, name, system_name, filename, start_line;
	bool used;
};

struct pcheck_event {
	uint64_t begin, duration, weight, count, thread, sample;
	bool death;
};

struct pcheck_thread {
	uint64_t tid, name, begin, end, before, process;
};

struct pcheck_span {
	uint64_t begin, duration, weight, thread, name;
};

/* The time index; there is none if VERSION is 0. */
struct pcheck_times {
	uint64_t version, end, budget, keep, from, thinning, seen, start;
	struct pcheck_event *events;
	struct pcheck_thread *threads;
	struct pcheck_span *spans;
	size_t event_count, thread_count, span_count;
	struct pcheck_numbers recorded, names, counters; /* COUNTERS: three numbers each */
	struct pcheck_numbers wakes; /* four each: when, woken, waker, sample from 1 */
};

struct pcheck_profile {
	struct pcheck_type *types;
	size_t type_count;
	struct pcheck_sample *samples;
	size_t sample_count;
	struct pcheck_mapping *mappings;
	size_t mapping_count;
	struct pcheck_location *locations;
	size_t location_count;
	struct pcheck_function *functions;
	size_t function_count;
	struct pcheck_string *strings;
	size_t string_count;
	struct pcheck_numbers comments;
	struct pcheck_type period_type;
	uint64_t drop_frames, keep_frames, time_nanos, duration_nanos, period;
	uint64_t default_type, doc_url;
	struct pcheck_times times;
};

/* Reads and decodes. Returns 0 if there is a profile to look at (broken rules may have been
 * reported all the same), or -1 if there is none. */
int pcheck_read_file(struct pcheck_profile *p, const char *path, struct pcheck_report *r);
int pcheck_read_memory(struct pcheck_profile *p, const void *gzip, size_t n,
		       struct pcheck_report *r);
/* The same without the gzip around it. */
int pcheck_decode(struct pcheck_profile *p, const void *data, size_t n, struct pcheck_report *r);
void pcheck_free(struct pcheck_profile *p);

/* All rules. MODE: "cpu", "wall", "heap", "lock", or NULL: any of them. MAIN_PATH: the
 * path that mapping 1 must have, or NULL. */
void pcheck_rules(struct pcheck_profile *p, const char *mode, const char *main_path,
		  struct pcheck_report *r);
void pcheck_tables(struct pcheck_profile *p, struct pcheck_report *r);
void pcheck_samples(struct pcheck_profile *p, struct pcheck_report *r);

/* A part of the time index, and the rules about all of it. */
void pcheck_read_times(struct pcheck_profile *p, const uint8_t *data, size_t n,
		       struct pcheck_report *r);
void pcheck_times(struct pcheck_profile *p, struct pcheck_report *r);
/* "event BEGIN DURATION WEIGHT COUNT TID NAME leaf;caller;root", one line an event, and the rest.
 */
void pcheck_print_times(const struct pcheck_profile *p, FILE *out);
void pcheck_print_stack(const struct pcheck_profile *p, const struct pcheck_sample *s, FILE *out);

/* Text of an index, "" when it is out of range. Ids give NULL then. */
const char *pcheck_text(const struct pcheck_profile *p, uint64_t index);
const struct pcheck_mapping *pcheck_mapping(const struct pcheck_profile *p, uint64_t id);
struct pcheck_location *pcheck_location(const struct pcheck_profile *p, uint64_t id);
struct pcheck_function *pcheck_function(const struct pcheck_profile *p, uint64_t id);

/* "FLAT FLAT% CUM CUM% NAME" of the default sample type, the N biggest (0 = all). */
void pcheck_print_top(const struct pcheck_profile *p, size_t n, FILE *out);
/* "VALUE,VALUE<tab>KEY=TEXT,KEY=NUMBER[UNIT]<tab>leaf;caller;root"; no labels: "-". */
void pcheck_print_raw(const struct pcheck_profile *p, FILE *out);
void pcheck_print_comments(const struct pcheck_profile *p, FILE *out);
/* "TYPE UNIT SUM" for each sample type. */
void pcheck_print_totals(const struct pcheck_profile *p, FILE *out);

/* ITEMS with room for one more item of SIZE bytes, which is zeroed; exits without memory. */
void *pcheck_grow(void *items, size_t count, size_t size);

#endif
