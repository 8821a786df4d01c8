/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of tools/core/, by the file that implements them. */
#ifndef CP_CORE_MODEL_H
#define CP_CORE_MODEL_H

#include "core/core.h"

/* model.c
 *
 * A profile in memory: the contents of pprof's format, with ids turned into indices.
 *
 * Made by read.c, changed by the verbs, written by write.c. Compact, because a file may hold
 * millions of samples: FRAMES has all stacks one after the other, VALUES has all values, equal
 * label sets are kept once, and text is an index into STRINGS.
 *
 * Invariant: every index is in range (the reader checks this); strings[0] is "". If memory runs
 * out, the process ends with a message: it is a tool, so nothing is lost.
 */

#define CT_NONE UINT32_MAX /* index that means no mapping, or no function */

struct ct_type {
	uint32_t type, unit; /* strings: "cpu", "nanoseconds" */
};

struct ct_mapping {
	uint64_t start, limit, offset;
	uint32_t file, build_id; /* strings */
	bool has_functions, has_filenames, has_lines, has_inlines;
	bool is_other; /* FILE is not the one that was mapped (legacy.c) */
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

	struct ct_times *times;	 /* when it happened (times.h); NULL: the file doesn't say */
	const char *times_fault; /* why the time index of the file is not used; NULL: it is, or
				    there is none */

	struct ct_idle_loops *loops; /* where threads wait for something to do, learnt before
					filters removed samples (report.h); NULL: not learnt */
	bool is_nameless;	     /* of a format that has addresses only (legacy.c) */

	struct ct_profile_own *own; /* allocated sizes, text memory, indices: private to model.c */
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

/* TO gets every kind of information that FROM has, too. */
static inline void ct_mapping_join_flags(struct ct_mapping *to, const struct ct_mapping *from)
{
	to->has_functions |= from->has_functions;
	to->has_filenames |= from->has_filenames;
	to->has_lines |= from->has_lines;
	to->has_inlines |= from->has_inlines;
}

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

/* Returns the index of the sample type NAME; type_count: there is none. */
size_t ct_model_type(const struct ct_profile *p, const char *name);

/* Returns the sum of all samples' values of type INDEX. */
int64_t ct_model_total(const struct ct_profile *p, size_t index);

/* Returns the label KEY of a set, or NULL. */
const struct ct_label *ct_model_label(const struct ct_profile *p, uint32_t set, const char *key);

/* Returns whether values of type INDEX are of a moment, such as the memory in use: in a window they
 * are those of its end, and those of two windows don't add up. */
bool ct_model_is_of_moment(const struct ct_profile *p, size_t index);

/* Leaves samples the labels for whose key IS_KEPT says so. Samples that now have equal stacks and
 * labels stay apart: ct_combine joins them. */
void ct_model_keep_labels(struct ct_profile *p,
			  bool (*is_kept)(struct ct_profile *p, uint32_t key, void *arg),
			  void *arg);

struct ct_regex;

/* Removes the labels of P whose key matches ONLY and does not match KEEP; NULL: all match ONLY, no
 * one matches KEEP. */
void ct_model_strip_labels(struct ct_profile *p, struct ct_regex *only, struct ct_regex *keep);

/* combine.c
 *
 * Combines several profiles: samples with equal stacks and labels are summed, and addresses of the
 * same module are equal even if it was loaded at different places. Called by load.c and by `cprof
 * merge`.
 */

/* Returns a new profile, or NULL after a message on stderr that says why the sources can't be
 * combined. Leaves out samples whose values are all 0, and everything that no sample refers to. The
 * caller still owns the sources; their values may have been scaled to the finest unit among them.
 */
struct ct_profile *ct_combine(struct ct_profile *const *sources, size_t count);

/* Multiplies values by a ratio for each type. Samples whose values all become 0 are removed. */
void ct_combine_header_scale(struct ct_profile *p, const double *ratios);

/* combine_header.c
 *
 * The header of combined profiles: types, units, times, comments. Used by combine.c only.
 */

/* Returns a profile without samples that has the types, times and comments of all sources, or NULL
 * after an error message. Scales the sources' values to common units. */
struct ct_profile *ct_combine_header_join(struct ct_profile *const *sources, size_t count);

/* drop_frames.c
 *
 * drop_frames and keep_frames: which frames a profile itself declares uninteresting.
 *
 * pprof leaves out functions whose whole name matches drop_frames and not keep_frames, and
 * everything that they call. In libcprof's heap and lock profiles these are the leaves that say no
 * more than the file's type does (malloc, std::allocator, pthread_mutex_lock), so that pprof's
 * first table begins with the program's functions. cprof itself shows these leaves, except with
 * -drop_frames.
 */

/* Removes the frames from P's stacks that pprof would. */
void ct_drop_frames(struct ct_profile *p);
/* Was P, or the first of the profiles merged into it, written by libcprof? */
bool ct_drop_frames_ours(const struct ct_profile *p);

/* filter.c
 *
 * -focus, -ignore, -hide, -show, -show_from, -tagfocus, -tagignore: remove samples and frames from
 * a profile.
 *
 * The options mean what they mean in pprof. Called by the verbs that show samples, after ct_load.
 */

extern const struct ct_option ct_filter_options[];
extern const struct ct_option ct_times_window_options[]; /* times_filter.c */

/* The units of a profile's numeric labels by key. Must be made before samples are removed. */
struct ct_label_units {
	const char **units; /* by string index of the key; NULL = the key has no numbers */
	size_t count;
};

void ct_filter_tags_units_init(struct ct_label_units *u, const struct ct_profile *p);
void ct_filter_tags_units_release(struct ct_label_units *u);
/* Returns the unit of KEY, "" if the key has no numbers. */
const char *ct_filter_tags_units_of(const struct ct_label_units *u, uint32_t key);

/* Removes samples and frames as the options say, and names on stderr each expression that matched
 * nothing. Returns 0, or -1 after an error message if an expression is wrong. */
int ct_filter(struct ct_profile *p, const struct ct_label_units *units);
/* The same for callers that need no units. */
int ct_filter_alone(struct ct_profile *p);
/* Stores the filters that are in use as lines "focus=x"; the text belongs to filter.c. Returns the
 * number of lines. */
size_t ct_filter_active(const char **lines, size_t room);

/* filter_tags.c
 *
 * -tagfocus and -tagignore: expressions and ranges over labels; used by filter.c only.
 */

struct ct_tag_filter;

/* TEXT is [KEY=]REGEX[,REGEX...] or [KEY=]RANGE. Returns NULL after a message if TEXT is wrong. */
struct ct_tag_filter *ct_filter_tags_new(const char *option, const char *text);
void ct_filter_tags_free(struct ct_tag_filter *f);
bool ct_filter_tags_match(struct ct_tag_filter *f, const struct ct_profile *p, uint32_t label_set,
			  const struct ct_label_units *units);

/* -threads: samples by thread.
 */

extern const struct ct_option ct_threads_options[];
/* Was -threads given? */
bool ct_filter_tags_threads_wanted(void);
/* With -threads=tid, adds the thread's id to the label "thread" of each sample of P. */
void ct_filter_tags_threads_apart(struct ct_profile *p);

/* read_messages.c
 *
 * Maps a file's ids (any 64-bit numbers, usually 1..N) to 0, 1, 2 ... in the order of their first
 * mention. read.c uses one map each for mappings, locations and functions.
 */

struct ct_ids {
	uint32_t *small; /* by id: number + 1 */
	size_t small_room;
	uint64_t *keys; /* large ids, open addressing; 0 is free */
	uint32_t *numbers;
	size_t room, used;
	uint32_t count;
};

uint32_t ct_read_messages_id(struct ct_ids *ids, uint64_t id);

static inline uint32_t ct_ids_number(struct ct_ids *ids, uint64_t id)
{
	return id < ids->small_room && ids->small[id] ? ids->small[id] - 1
						      : ct_read_messages_id(ids, id);
}

/* inlines.c
 *
 * Profiles that are compared must have the same detail for each module. If one profile has inlined
 * calls and another only the names of the symbol table, each inlined function would look new, and
 * its caller faster.
 */

/* Removes the inlined calls of a module from all COUNT profiles if only some of the profiles have
 * lines for that module. Names on stderr, once, a file that lacks the lines. Returns true if calls
 * were removed. */
bool ct_inlines_align(struct ct_profile *const *profiles, const char *const *files, size_t count);

/* own.c
 *
 * Code that is made while the program runs: finds it in a profile, and knows how each runtime is
 * asked to name it. */

/* Is PATH, from a mapping, memory for code that is made while the program runs? */
bool ct_own_jit_is_path(const char *path);
/* Is L, whose innermost function is NAME, such code? So is code in no mapping of a profile that has
 * mappings: node's memory for code is gone when the profile is written at the program's end. */
bool ct_own_jit_is(const struct ct_profile *p, const struct ct_location *l, const char *name);
/* Is NAME a place in such code that has no name, like "//anon+0x7f79c7e7e088"? There can be
 * thousands of them. */
bool ct_own_jit_is_place(const char *name);
/* Is NAME only a place, "libfoo.so+0x1234", as libcprof writes it for code without symbols? */
bool ct_own_jit_is_bare(const char *name);

/* Returns what to do so that such code of P's program gets names. */
const char *ct_own_jit_advice(const struct ct_profile *p);

/* regex.c
 *
 * Regular expressions of -focus and similar options: Perl's syntax by PCRE2, which includes all of
 * Go's.
 */

struct ct_regex;

/* Returns NULL after a message on stderr if the text of -OPTION is no valid expression. */
struct ct_regex *ct_regex_new(const char *option, const char *text);
void ct_regex_free(struct ct_regex *r);
bool ct_regex_match(struct ct_regex *r, const char *text);
/* The same for a string of a profile; each index is matched only once. */
bool ct_regex_match_string(struct ct_regex *r, const struct ct_profile *p, uint32_t string);

/* short_name.c
 *
 * Names that fit a terminal: std::__adjust_heap<…> for one with three lines of template arguments.
 */

/* -full-names */
extern const struct ct_option ct_short_name_options[];

/* Returns the number of columns of the terminal that stdout was at the first call, which comes
 * before a pager begins, or 100 if stdout was no terminal. Returns 0 if names must not be
 * shortened, or if the terminal doesn't tell. */
size_t ct_short_name_columns(void);
/* Returns the number of columns of TEXT. */
size_t ct_short_name_width(const char *text);

/* Was stdout a terminal then? */
bool ct_short_name_on_terminal(void);
/* Was -full-names given? */
bool ct_short_name_never(void);
/* Returns NAME so that it fits the columns after BEFORE others; the caller frees it. Only template
 * arguments are cut if stdout was no terminal, or if hardly any columns are left. */
char *ct_short_name_fitting(const char *name, size_t before);
/* Returns NAME in at most WIDTH columns; the caller frees it. Template arguments become <…>, the
 * innermost first. If that isn't enough, the beginning is replaced by "…". WIDTH 0: the name is not
 * changed. */
char *ct_short_name(const char *name, size_t width);
/* Prints NAME in the columns of the terminal that are left after BEFORE. */
void ct_short_name_print(const char *name, size_t before);

/* input.c
 *
 * Modules and debug files are mapped while they are read, because of a large one only a little is
 * needed. If somebody cuts such a file short meanwhile (a build that writes over it), the kernel
 * sends SIGBUS for the pages that are gone.
 */

/* Lets the missing pages of a mapped file that shrinks read as zeros. Call at the start. */
void ct_input_catch_shrunk(void);
/* Were there such pages? What was read may then be wrong. */
bool ct_input_is_shrunk(void);

/* siblings.c
 *
 * Files of the same run beside a profile: those of the processes that its process started, and
 * those of its other modes.
 */

/* Says on stderr which files FILE.PID the processes that P's process started wrote; P was read from
 * FILE. Files of an earlier run are not named. Returns whether anything was said. */
bool ct_siblings_say(const struct ct_profile *p, const char *file);
/* Returns the names of the files FILE.PID of processes that the process of FILE, or one of those,
 * started: their profiles began after FILE's did. Files of an earlier run began before. Files whose
 * begin is not known are among them. Those that can't be read are not: a message names each, and
 * *UNREAD grows by their number. A URL, "-" and a pipe have none. The caller frees the *COUNT names
 * and the list. NULL, after a message, if FILE can't be read. */
char **ct_siblings_children(const char *file, size_t *count, size_t *unread);
/* Keeps ct_siblings_say() silent from now on, because the caller names such files itself. */
void ct_siblings_are_known(void);
/* Is PATH a readable profile, and may one run have written it and P? Prints nothing if not. */
bool ct_siblings_is_of_run(const char *path, const struct ct_profile *p);
/* Returns the number of the process whose file has the ending TEXT after "FILE.": "123", or "123.2"
 * for the second profile of that process. 0: TEXT is no such ending. */
int64_t ct_siblings_process(const char *text);
/* Returns the pattern for glob() of the names FILE.PID and a few others. The caller frees it. */
char *ct_siblings_pattern(const char *file);
/* Do the times overlap, so that one run may have written both? */
bool ct_siblings_overlap(const struct ct_profile *a, const struct ct_profile *b);

/* source.c
 *
 * Lines of source files, for `cprof list`.
 *
 * The paths come from a profile, so only regular files of a sane size are read.
 */

struct ct_source {
	char *text;   /* the file, with newlines replaced by NUL */
	char **lines; /* lines[1 .. count] */
	size_t count;
};

/* Reads the source file PATH, as the profile names it. SEARCH_PATH: directories separated by ":" in
 * which, and in whose parents, a relative path is looked for; NULL = the current directory.
 * TRIM_PATH: prefixes that are removed first; NULL = none. Returns 0 or a negative errno. */
int ct_source_read(struct ct_source *s, const char *path, const char *search_path,
		   const char *trim_path);
void ct_source_release(struct ct_source *s);

#endif
