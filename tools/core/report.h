/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of tools/core/, by the file that implements them. */
#ifndef CP_CORE_REPORT_H
#define CP_CORE_REPORT_H

#include "core/model.h"

/* drop_frames.c
 *
 * Shortens deep stacks for receivers with a limit. Such receivers cut the leaf, which has the
 * values; here the middle is cut. Called by `cprof merge` and `cprof strip-labels`, before equal
 * stacks are summed.
 */

/* The smallest number of frames that can be requested: the leaf, [...] and the root. */
#define CT_CUT_MIN 3

#define CT_CUT_HELP "leave N frames of a deeper stack, [...] in place of its middle"

/* Shortens the stacks of P that have more than FRAMES locations: the innermost and the outermost
 * ones stay, FRAMES in all with [...] in between. Adds a comment with the number of stacks that
 * were cut. FRAMES 0: does nothing. Returns false after an error message if FRAMES is below
 * CT_CUT_MIN. */
bool ct_drop_frames_middle(struct ct_profile *p, long frames);

/* graph.c
 *
 * A profile's samples as a call graph: the value of each function (line, file, address) alone and
 * with its callees, and the value of each call. The rules are pprof's.
 *
 *     struct ct_graph *g = ct_graph_new(p, &settings);
 *     ct_graph_trim(g, ...);                // which nodes stay
 *     ct_graph_edges_add(g, ...);           // only then: calls go over nodes that don't stay
 */

enum ct_granularity {
	CT_FUNCTIONS,
	CT_FILEFUNCTIONS,
	CT_FILES,
	CT_LINES,
	CT_ADDRESSES,
	CT_MODULES, /* the program, a library, [JIT] */
};

struct ct_graph_settings {
	enum ct_granularity granularity;
	bool no_inlines; /* inlined calls count for the function that contains them */
	bool modules;	 /* functions of different modules are different nodes */
	bool mean;	 /* values are divided by those of the first type */
	size_t type;	 /* index of the sample type */
};

struct ct_node {
	uint64_t address;	     /* 0 = nodes are not distinguished by address */
	int64_t line, start_line;    /* 0 likewise */
	uint32_t name, file, module; /* strings; 0 = not distinguished by it */
	int64_t flat, flat_div, cum, cum_div;
	bool kept, may_be_inlined;
	bool cancelled; /* kept only for its calls; its values are 0 */
	/* Indices into EDGES, if there are any: in_edges[first_in ...], out_edges[...]. */
	uint32_t first_in, in_count, first_out, out_count;
};

struct ct_edge {
	uint32_t from, to; /* nodes */
	uint32_t seen;
	bool inlined; /* all of these calls were inlined */
	int64_t weight;
};

struct ct_graph {
	struct ct_profile *p;
	struct ct_graph_settings settings;
	struct ct_node *nodes;
	char **names; /* display names of the nodes that are kept; NULL before they are made */
	size_t node_count;
	/* Nodes of location L: location_nodes[first_node[L] .. first_node[L + 1] - 1], innermost
	 * first.
	 */
	uint32_t *first_node, *location_nodes;
	struct ct_edge *edges;
	size_t edge_count;
	uint32_t *in_edges, *out_edges; /* sorted by weight; made by ct_graph_edges_add */
	uint32_t *order; /* nodes that are kept, in the order in which they are shown */
	size_t kept_count;
};

struct ct_graph *ct_graph_new(struct ct_profile *p, const struct ct_graph_settings *settings);
void ct_graph_free(struct ct_graph *g);

/* The node's value, divided if there is a divisor. */
int64_t ct_graph_node_flat(const struct ct_node *n);
int64_t ct_graph_node_cum(const struct ct_node *n);
/* Returns the node's name as "name", "name file:line", "0000000000401136 name file:line",
 * "[module]" and so on. The caller frees it. */
char *ct_graph_nodes_name(const struct ct_graph *g, const struct ct_node *n);

/* Returns the sum of the absolute values of a sample type; only of the diff base's samples if there
 * are any. */
int64_t ct_graph_total(const struct ct_profile *p, const struct ct_graph_settings *s);

struct ct_trim {
	double node_fraction,
		edge_fraction; /* share of the total below which nodes and edges are dropped */
	size_t node_count;     /* most nodes; 0 = all */
	bool by_cum;
};

struct ct_trimmed {
	size_t dropped, before_count; /* number of nodes below the fraction, and of those left
					 before NODE_COUNT applied */
	int64_t edge_cutoff;
};

/* Chooses the nodes that are shown, and their order. */
struct ct_trimmed ct_graph_trim(struct ct_graph *g, const struct ct_trim *t);
/* Adds the edges between kept nodes of at least CUTOFF. ONLY_INLINED: adds only edges to nodes that
 * are inlined somewhere. */
void ct_graph_edges_add(struct ct_graph *g, int64_t cutoff, bool only_inlined);

/* graph_nodes.c
 *
 * The nodes of a graph, without values; used by graph.c only.
 */

/* Fills in nodes, first_node and location_nodes. */
void ct_graph_nodes_make(struct ct_graph *g);

/* hints.c
 *
 * Prints hints for the next step: at most three lines after a table, each with a command that
 * helps, and only if they matter.
 */

struct ct_own;

/* Prints the hints for P, which was read from FILE, on stderr. OWN: the table is one of lines, and
 * FILE can be changed, so a hint says if no code that OWN takes as the user's has a line. NULL: no
 * such hint. */
void ct_hints_say(const struct ct_profile *p, const char *file, struct ct_own *own);

/* notes.c
 *
 * The comments of a profile that its user should see, besides the figures.
 */

/* Returns comment I of P without the "# " that hides it from pprof's tables. */
const char *ct_notes_comment(const struct ct_profile *p, size_t i);
/* Adds TEXT to P's comments, hidden from pprof's tables in the same way. */
void ct_notes_add(struct ct_profile *p, const char *text);
/* Prints P's notes on stderr, those that matter for its samples, each once in a run of the tool. */
void ct_notes_say(const struct ct_profile *p);
/* Returns false if the same was asked of a text that differs only in numbers, and after a
 * semicolon: so several modes of a run say it once. */
bool ct_notes_is_new(const char *text);

/* numbers.c
 *
 * Sums, shares and units of sample values.
 *
 * Values come from files, so nothing here may overflow into undefined behaviour: sums wrap.
 */

static inline int64_t ct_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t ct_negate(int64_t a)
{
	return (int64_t) - (uint64_t)a;
}

static inline int64_t ct_abs(int64_t a)
{
	return a < 0 ? ct_negate(a) : a;
}

/* Divides A by B, which is not 0. */
static inline int64_t ct_divide(int64_t a, int64_t b)
{
	return b == -1 ? ct_negate(a) : a / b;
}

/* Returns the int64 nearest to V; 0 for NaN. */
int64_t ct_numbers_clamp(double v);
/* Returns VALUE * RATIO, rounded half away from zero. */
int64_t ct_numbers_scale_value(int64_t value, double ratio);

/* Returns VALUE in another unit. TO is a unit ("ms", "megabytes"), or "auto" or "minimum": the
 * biggest unit in which the value is at least 1. A value in an unknown unit stays as it is. Sets
 * UNIT to the unit's short name, "" for counts. */
double ct_numbers_scale(int64_t value, const char *from, const char *to, const char **unit);

#define CT_NUMBER_ROOM 64
/* Writes "64.3 s", "22.1 MB", "350", "0": three digits, in the unit that fits LIKE, the largest
 * value of a table, or VALUE if that is much smaller. Returns TO, which has CT_NUMBER_ROOM bytes.
 */
char *ct_numbers_text(char *to, int64_t value, const char *from, int64_t like);
/* Writes "1.50s", "512kB", "0", with at most two decimals; as ct_numbers_text if UNIT is "auto".
 * Returns TO, which has CT_NUMBER_ROOM bytes. */
char *ct_numbers_format(char *to, int64_t value, const char *from, const char *unit);
/* Writes "12.35%", " 0.05%", "  100%": six characters, except for tiny shares. */
char *ct_numbers_percent(char *to, int64_t value, int64_t total);

/* Returns a share without the blanks before it. */
static inline const char *ct_trimmed(const char *percent)
{
	return percent + strspn(percent, " ");
}

/* Can values in A be added to values in B after scaling? */
int ct_numbers_units_compatible(const char *a, const char *b);

/* own.c
 *
 * Decides which frames are the user's own code: those of the program, of modules beside it (in a
 * merged profile, of every process's program) and of libraries outside the system's folders, except
 * the C++ and Rust libraries that were compiled into it, allocators, and the start of a program.
 * -own REGEX replaces this rule.
 *
 * The innermost own frame of a sample tells the program's author most, because the libraries below
 * it only do its work.
 */

struct ct_own;

/* The same for one name; flame graphs use it for colours, too. PATH and PROGRAM are paths of
 * modules; PATH is the path of PROGRAM, or of a module beside it. */
bool ct_own_is_beside(const char *path, const char *program);
/* Returns the name by which the program of MAPPING was started: redis-server, although that is a
 * link to redis-check-rdb. If there are several such names, returns the file's. */
const char *ct_own_program_name(const struct ct_profile *p, size_t mapping);
/* Names code and locks without symbols, "redis-check-rdb+0x1234", after the program as it was
 * started: "redis-server+0x1234". */
void ct_own_name_places(struct ct_profile *p);
/* Is PATH where distributions and package managers keep programs and libraries? */
bool ct_own_is_in_system(const char *path);
/* Is this mapping the program of a process? */
bool ct_own_is_program(const struct ct_profile *p, size_t mapping);
/* Is PATH libc, a C++ library or an allocator, in any directory? */
bool ct_own_is_runtime_module(const char *path);
/* Is it code that was compiled into the program but belongs to a library? MANGLED and FILE may be
 * "". */
bool ct_own_is_library_function(const char *name, const char *mangled, const char *file);

/* -own, and its expression: NULL if it isn't given. */
extern const struct ct_option ct_own_options[];
extern const char *ct_own_asked;

/* WHICH is an expression for names of functions and paths of modules, or NULL. Returns NULL after
 * an error message if WHICH is not a valid expression. */
struct ct_own *ct_own_new(const struct ct_profile *p, const char *which);
void ct_own_free(struct ct_own *o);

/* Is a line of a location own code? LINE is NULL if the location has no symbol. */
bool ct_own_is(struct ct_own *o, const struct ct_location *l, const struct ct_line *line);
/* Returns the innermost own line of a location, or -1. A location without a symbol has line 0. */
int ct_own_line(struct ct_own *o, const struct ct_location *l);
/* Returns the name of the module whose work sample I is: that of the innermost frame that is in no
 * C or C++ library and in no allocator, which work for their caller. *IS_OWN tells whether that
 * module is own code. */
const char *ct_own_module(const struct ct_own *o, size_t i, bool *is_own);

/* idle.c
 *
 * Waits for something to do. They make nobody wait, so tables show them after the other waits.
 */

/* Learns where the threads of P have their loops: threads whose outermost own function is the same
 * are of one kind, and their loop is in the innermost own function that all of their stacks have.
 * If that was learnt before filters, it is what they found. OWN and P must outlive the result,
 * which the caller frees. */
struct ct_idle *ct_idle_new(struct ct_own *own, const struct ct_profile *p);
void ct_idle_free(struct ct_idle *t);
/* Learns it for P, if P is of waits. A filter calls this before it removes samples: in a part of a
 * run all stacks of a worker may be the same one, which is no loop. */
void ct_idle_learn(struct ct_profile *p);
/* TO, which was combined of COUNT profiles FROM, gets what was learnt from all of them. */
void ct_idle_loops_join(struct ct_profile *to, struct ct_profile *const *from, size_t count);
void ct_idle_loops_free(struct ct_idle_loops *l);
/* Returns what SAMPLE waits for: its label "wait"; of a lock profile "condition" or "semaphore", by
 * the functions at its leaf. NULL: neither says so. */
const char *ct_idle_cause(const struct ct_profile *p, size_t sample);
/* Is SAMPLE one of these waits: "poll" by epoll, in the first of several threads, or in the loop of
 * another one or in a function that the loop calls; "thread" in the first thread; "condition" and
 * "semaphore" in the loop of another thread or in a function that the loop calls; "sleep" in a loop
 * itself, if there are threads of other kinds? */
bool ct_idle_is(struct ct_idle *t, size_t sample);

/* report.c
 *
 * The common parts of top, tree, peek, list and tags: their options, the profile they show, and how
 * values are written. Every option and number means what it means in pprof.
 *
 *     first = ct_report_parse(&ct_verb_top, argc, argv, options);
 *     if (first < 0)
 *         return ct_options_status(first);
 *     if (ct_report_open(&r, argv + first, argc - first))
 *         return CT_FAILED;
 *     ct_report_graph(&r, &how);
 *     ...
 *     ct_report_close(&r);
 */

struct ct_report {
	struct ct_profile *p;
	struct ct_label_units label_units;
	struct ct_graph_settings settings;
	int64_t total;
	const char *type;      /* "cpu", "mean_delay" */
	const char *from_unit; /* unit of the profile */
	char *unit;	       /* unit in which values are shown; "auto": by the total */
	struct ct_graph *graph;
	struct ct_trimmed trimmed;
	struct ct_trim trim;
};

/* The graph that a verb needs. */
struct ct_graph_wish {
	bool never_trim;	 /* keep every node, whatever the options say */
	bool by_source;		 /* a node for each line and module, whatever the options say */
	bool all_edges;		 /* false: only the edges that tell which functions are inlined */
	size_t usual_node_count; /* number of nodes if -nodecount is not given; 0 = all */
};

/* Parses the common options and OWN (ends with CT_END). Returns as ct_options_parse. */
int ct_report_parse(const struct ct_verb *verb, int argc, char **argv, const struct ct_option *own);
bool ct_report_wants_json(void);
/* Reads, combines and filters the profiles. Returns 0, or -1 after an error message. */
int ct_report_open(struct ct_report *r, char *const *sources, int count);
/* Says so if OPERANDS are a file and what is none: the expression comes first. */
void ct_report_say_swapped(const char *verb, char *const *operands);
/* Begins the output (ct_out_begin), with the window of time if there is one. */
void ct_report_begin(const struct ct_report *r);
/* Makes the graph and chooses the unit. */
void ct_report_graph(struct ct_report *r, const struct ct_graph_wish *wish);
void ct_report_close(struct ct_report *r);

/* Writes VALUE in the report's unit. Returns TO, which has CT_NUMBER_ROOM bytes. */
char *ct_report_value(const struct ct_report *r, char *to, int64_t value);
char *ct_report_share(const struct ct_report *r, char *to, int64_t value);
/* Returns the value below which values are off by ±50 % or more; 0: unknown, or exact. */
double ct_report_heading_unsure(const struct ct_report *r);
/* Prints "2.96 s cpu in 9.84 s (30.08%)": the total, and the time that passed. */
void ct_report_heading_total(const struct ct_report *r);
/* Prints the lines above a table: the total unless it is TOLD already, filters, the number of ROWS
 * shown. */
void ct_report_heading(const struct ct_report *r, bool told, size_t rows);
/* Prints of these lines the filters, and how sure values are: below a table that is not the
 * graph's. */
void ct_report_heading_below(const struct ct_report *r);
/* The same as members of a JSON object, which the caller opens and closes. */
void ct_report_heading_json(const struct ct_report *r, struct ct_json *j);

/* heap_views.c
 *
 * The table of a process's resident memory, from the comments of a heap profile.
 */

#define CT_RESIDENT_ROWS 16

struct ct_resident_row {
	char name[40];
	int64_t bytes;
};

struct ct_resident {
	int64_t all; /* in bytes */
	size_t count;
	struct ct_resident_row rows[CT_RESIDENT_ROWS];
};

/* Reads the table. Returns false if P has none. */
bool ct_resident_read(const struct ct_profile *p, struct ct_resident *to);
/* Prints the table to stdout. VARIANCE is that of the bytes in use by sampling, 0 if it isn't
 * known. */
void ct_resident_print(const struct ct_resident *r, double variance);
/* Prints a hint on stderr if most of the memory is the allocator's, and the profile doesn't say
 * why. */
void ct_resident_hint(const struct ct_profile *p, const struct ct_resident *r);
/* The same if much of it, and more than of the heap, is mapped by the program of P itself, as
 * Python's small objects are. Returns whether it is. */
bool ct_resident_hint_mapped(const struct ct_profile *p, const struct ct_resident *r);

/* sampling.c
 *
 * How far the values of a sampled profile may be from the truth.
 *
 * In a heap profile a block of S bytes is sampled with the probability p = 1 - e^(-S/interval), and
 * a sampled block counts for 1/p blocks. So a sum over blocks has a known variance, and an unbiased
 * estimate of that variance comes from the samples themselves: the sum of (1/p - 1)/p * S^2, which
 * is bytes * S
 * * (1/p - 1) for a row of blocks of S bytes.
 *
 * In a profile whose rows are scaled to exact totals (I/O, locks) the comment "calibrated:" has,
 * for each type, what the variance of a value is, divided by the value. In a profile whose first
 * type is samples, each comes by itself: a share of S of N has a relative variance of (1 - S) / (S
 * * N).
 */

/* 95 of 100 values are within this many standard deviations. */
#define CT_SAMPLING_95 1.96

/* Does the type at index SPACE hold the bytes of sampled blocks, after a type with their number? */
bool ct_sampling_is_sampled(const struct ct_profile *p, size_t space);
/* Returns the mean size of the blocks of sample I: the label "bytes", because the count of the
 * represented blocks is rounded. 0: no blocks. */
double ct_sampling_size(const struct ct_profile *p, size_t i, size_t space);
/* Returns the variance of sample I's bytes, in bytes squared. Call only if is_sampled is true. */
double ct_sampling_variance(const struct ct_profile *p, size_t i, size_t space);
/* Returns below which value, of the type at index TYPE, values are ±50 % and more in 5 of 100
 * cases. 0: not known, or values are exact. P's values must not be differences. */
double ct_sampling_unsure(const struct ct_profile *p, size_t type);
/* Are P's rows scaled to exact totals? */
bool ct_sampling_is_calibrated(const struct ct_profile *p);
/* Writes "±12%": how far, in 95 of 100 cases, VALUE may be from the truth if it has that VARIANCE.
 * Writes "" without variance. Returns TO, which has SIZE bytes. */
char *ct_sampling_format(char *to, size_t size, double value, double variance);

/* table.c
 *
 * Hash table from a 64-bit hash to indices of objects that are stored elsewhere.
 *
 * The caller compares: ct_table_find asks SAME for each index of equal hash. The table never
 * shrinks.
 */

struct ct_table {
	struct ct_table_slot {
		uint32_t hash, index; /* INDEX: + 1, 0 = free */
	} * slots;
	size_t room, used; /* ROOM: a power of two, at most 2^32 */
};

typedef bool ct_table_same(const void *context, uint32_t index, const void *key);

/* Returns the index of the object that is the SAME as KEY, or UINT32_MAX. */
uint32_t ct_table_find(const struct ct_table *t, uint64_t hash, ct_table_same *same,
		       const void *context, const void *key);
/* Adds INDEX, which must not be in the table yet. */
void ct_table_add(struct ct_table *t, uint64_t hash, uint32_t index);
void ct_table_release(struct ct_table *t);

static inline uint64_t ct_hash(uint64_t before, uint64_t word)
{
	uint64_t h = (before ^ word) * UINT64_C(0x9e3779b97f4a7c15);

	return h ^ h >> 29;
}

uint64_t ct_table_hash_words(uint64_t before, const uint32_t *words, size_t count);
uint64_t ct_table_hash_text(const char *text);

#endif
