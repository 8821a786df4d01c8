/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of tools/flame/, by the file that implements them. */
#ifndef CP_FLAME_FLAME_H
#define CP_FLAME_FLAME_H

#include "core/report.h"
#include "core/times.h"

/* flame.c
 *
 * Maps three numbers to an index, to find equal frames, nodes and rows. Used by the verbs that
 * build trees (flame_*.c) and by diff.
 */

struct ct_flame_key {
	uint64_t a, b, c;
};

/* A map that is all zero is empty. */
struct ct_flame_map {
	struct ct_table table;
	struct ct_flame_entry {
		struct ct_flame_key key;
		uint32_t value; /* CT_NONE: new */
	} * entries;
	size_t count, room;
};

/* Returns the place of the key's value, valid until the next call. It holds CT_NONE if the key is
 * new; the caller must then store another value. */
uint32_t *ct_flame_map_at(struct ct_flame_map *map, struct ct_flame_key key);
void ct_flame_map_release(struct ct_flame_map *map);

/* flame_frames.c
 *
 * Frames as people see them: a function (or a line or address of it), from one or several
 * profiles. Used by flame, folded, convert and diff.
 *
 * Text of all profiles is brought into one pool, so that equal names have equal numbers.
 */

enum ct_frame_kind {
	CT_FRAME_PROGRAM, /* the program, and libraries in the program's directory */
	CT_FRAME_KERNEL,
	CT_FRAME_JIT,
	CT_FRAME_MARK,	  /* "[truncated]" and similar names, which are no code */
	CT_FRAME_RUNTIME, /* libc, the C++ library, allocators; also their templates compiled into
			     other modules */
	CT_FRAME_LIBRARY
};

/* The property that tells frames of one function, file and module apart, if any. */
enum ct_frames_by { CT_BY_FUNCTION, CT_BY_LINE, CT_BY_ADDRESS };

struct ct_frame {
	uint32_t name, file, module; /* strings in the pool */
	uint32_t line, last_line;    /* its line, or the range of lines seen; 0 = unknown */
	enum ct_frame_kind kind;
	bool inlined; /* the first occurrence was inlined */
};

struct ct_frames {
	struct ct_profile *pool; /* strings and label sets */
	struct ct_frame *list;
	size_t count, room;
	enum ct_frames_by by;
	bool names_only; /* frames with equal names are one frame, whatever their file, module or
			    inlining */
	/* A frame is a name in a module, whatever its file and inlining. All programs are one
	 * module, and all versions of a library are one. So two builds of the same sources can be
	 * compared. */
	bool builds_are_one;
	struct ct_flame_map map;
};

/* Turns the lines and locations of one profile into frames. */
struct ct_frames_of {
	const struct ct_profile *profile;
	/* Location I has frames[first[i] .. first[i + 1] - 1], the innermost first. */
	uint32_t *frames, *first;
};

void ct_flame_frames_init(struct ct_frames *frames, enum ct_frames_by by);
void ct_flame_frames_release(struct ct_frames *frames);
/* Adds a frame that is no code, such as a thread as root. */
uint32_t ct_flame_frames_named(struct ct_frames *frames, const char *name);

void ct_flame_frames_take(struct ct_frames *frames, const struct ct_profile *p,
			  struct ct_frames_of *of);
void ct_flame_frames_of_release(struct ct_frames_of *of);

/* Marks an inlined frame if the frames themselves can't say it (builds_are_one). */
#define CT_FRAME_INLINED 0x80000000u

/* Builds the stack of a sample, root first, inlined frames after their caller. Returns its length.
 * STACK is kept in ROOM between calls. */
size_t ct_flame_frames_stack(const struct ct_frames_of *of, const struct ct_sample *s,
			     uint32_t **stack, size_t *room);

/* Returns the value of a text label ("thread"), or NULL. */
const char *ct_flame_frames_label(const struct ct_profile *p, const struct ct_sample *s,
				  const char *key);

static inline const char *ct_frame_text(const struct ct_frames *frames, uint32_t string)
{
	return ct_text(frames->pool, string);
}

static inline const char *ct_frame_name(const struct ct_frames *frames, uint32_t frame)
{
	return ct_text(frames->pool, frames->list[frame].name);
}

/* flame_tree.c
 *
 * The call tree of one profile, or of two that are compared. Used by flame's two writers and
 * by convert's callgrind.
 *
 * Node 0 is all samples. Filters choose among rows. A row is a node, the labels, the side (1 is the
 * base of a comparison) and one value for each sample type.
 */

struct ct_tree_node {
	uint32_t parent;
	uint32_t frame : 31, inlined : 1; /* inlined: all its calls are inlined, if stacks tell */
};

struct ct_tree_row {
	uint32_t node, labels, side;
};

struct ct_tree {
	struct ct_tree_node *nodes;
	struct ct_tree_row *rows;
	int64_t *values; /* type_count values per row */
	size_t node_count, row_count, type_count;
	size_t node_room, row_room, value_room;
	size_t labels_left_out;	    /* keys that were left out: they have too many values */
	size_t negative;	    /* negative samples, which were left out: they have no width */
	struct ct_tree_item *items; /* samples that were added */
	size_t item_count, item_room, frame_count;
	uint32_t *row_of; /* by sample of side 0: its row; NULL: nobody asks */
};

/* A sample on its way from the root to its node. */
struct ct_tree_item {
	const struct ct_frames_of *of;
	const uint32_t *stack; /* its locations */
	uint32_t sample, labels, side;
	uint32_t frame; /* the next frame, as stacks mark it; CT_NONE: the stack ends here */
	uint32_t left,
		within; /* what comes after FRAME: locations, and frames of the present one */
};

struct ct_tree_source {
	const struct ct_frames_of *of;
	struct ct_frames *frames;
	uint32_t side;
	bool threads; /* the root of each stack is the thread's name */
	bool labels;  /* samples with other labels get rows of their own */
};

void ct_flame_tree_init(struct ct_tree *tree, size_t type_count);
void ct_flame_tree_release(struct ct_tree *tree);
void ct_flame_tree_add(struct ct_tree *tree, const struct ct_tree_source *source);
/* Makes nodes and rows of the samples that were added: nodes depth first, children in the order of
 * their first sample, rows by node. The sources' frames must still be there. */
void ct_flame_tree_order(struct ct_tree *tree);

/* Labels that filters offer: text labels whose keys have few values. Used by flame_tree.c. */

/* A key with more values than this (sizes, request numbers) is left out, because nobody can choose
 * among so many. */
#define CT_FLAME_LABEL_VALUES 1000

/* flame.c
 *
 * The data that `cprof flame` draws, for its two writers.
 */

/* All files with the same sample types. */
struct ct_flame_tab {
	const char *name;	/* "CPU", "Heap" */
	char *file, *base_file; /* names as the user gave them; base_file NULL: no comparison */
	struct ct_profile *profile, *base;
	size_t type; /* type that is shown first */
	struct ct_tree tree;
	struct ct_flame_times_tab *times; /* when its events happened; NULL: nothing is known */
	char *source; /* the lines of its hot functions as JSON; NULL: nobody asked */
};

struct ct_flame {
	const char *title;
	const char *source_path; /* directories with sources, or ""; NULL: show none */
	struct ct_flame_tab *tabs;
	size_t tab_count, tab_room,
		first; /* FIRST is the tab that is shown first, and the one that a picture shows */
	struct ct_frames frames;      /* frames of all tabs */
	struct ct_flame_times *times; /* NULL: the page has no tab Time */
};

/* Does NAME tell which tab to draw? */
bool ct_flame_is_output(const char *name);

/* Makes the tree of a tab whose profiles are there; release it with ct_flame_tree_release. */
void ct_flame_make_tree(struct ct_flame *flame, struct ct_flame_tab *tab);
/* Writes the page: flame.c, around flame_data.c's data. */
void ct_flame_page(const struct ct_flame *flame, FILE *to);
void ct_flame_data(const struct ct_flame *flame, FILE *to);

/* Numbers inside of the data, variable in length, as base64. */
struct ct_flame_packer {
	FILE *to;
	unsigned char bytes[3];
	unsigned count;
};

/* Begins the member KEY, which must follow another one. */
struct ct_flame_packer ct_flame_data_begin(FILE *to, const char *key);
void ct_flame_data_number(struct ct_flame_packer *p, uint64_t n);
void ct_flame_data_end(struct ct_flame_packer *p);

/* Text files that flame, folded and convert write, as a whole or not at all. They have mode 0600
 * like profiles (core.h), because they contain names, paths and labels.
 */

typedef void ct_flame_writer(const void *what, FILE *to);

/* WRITE writes WHAT to PATH; NULL or "-" is stdout. Returns CT_OK, or CT_FAILED after an error
 * message. */
int ct_flame_file(const char *path, ct_flame_writer *write, const void *what);

/* Chooses the value of a profile to show, and decides whether two profiles can be compared. Used by
 * flame, folded, convert and diff. Errors are reported on stderr.
 */

/* Returns the profile that flame, folded, convert and merge work on: SOURCES merged, without the
 * samples that -focus and similar options remove (ct_filter_options). Returns NULL after an error
 * message.
 */
struct ct_profile *ct_flame_sides_open(char *const *sources, int count);

/* NAME is the name of a type ("cpu", "inuse_space"), its number, or NULL for the default type.
 * Returns CT_OK or CT_FAILED. */
int ct_flame_sides_type(const struct ct_profile *p, const char *name, size_t *type);

/* Are sample types and units equal, in order? The second function prints a message if they are not.
 */
bool ct_flame_sides_equal_types(const struct ct_profile *a, const struct ct_profile *b);
bool ct_flame_sides_same_types(const struct ct_profile *a, const char *a_name,
			       const struct ct_profile *b, const char *b_name);

/* flame_source.c
 *
 * Returns the source lines, with their values of the type that is shown first, of the functions
 * that have 1 % of it or more: JSON, [[frame, [line, self, total, text], ...], ...]. At most 4 KiB
 * for each function. The caller frees it.
 */
char *ct_flame_source(const struct ct_flame *flame, const struct ct_flame_tab *tab,
		      const struct ct_frames_of *of);

/* flame_times.c
 *
 * The time indices of all tabs, on one axis, for the page's tab Time. A tab that compares has no
 * times. Call ct_flame_times_make after flame->frames is ready and before the trees are made.
 */
void ct_flame_times_make(struct ct_flame *flame);
void ct_flame_times_release(struct ct_flame *flame);
/* Write members of the page's data: those of a tab, and those that all tabs share. */
void ct_flame_times_tab(const struct ct_flame *flame, const struct ct_flame_tab *tab, FILE *to);
void ct_flame_times_data(const struct ct_flame *flame, FILE *to);

/* Writes a static picture: flame_svg.c. */
void ct_flame_svg(const struct ct_flame *flame, FILE *to);

/* The files of tools/flame/ as text, ended by NULL; made by tools/flame/embed.sh. */
extern const char *const ct_flame_template[];
extern const char *const ct_flame_style[];
extern const char *const ct_flame_script[];

/* Writes text inside markup: <>&"' as entities, characters that XML can't hold as U+FFFD. */
void ct_flame_text_markup(FILE *to, const char *text, size_t length);

extern const struct ct_verb ct_verb_flame;

/* flame_tabs.c
 *
 * Sorts the files of `cprof flame` into tabs by their sample types. Used by flame.c.
 */

/* Reads FILES and puts them into tabs, and each of BASES beside the tab of its sample types.
 * Returns CT_OK, or CT_FAILED after an error message; release the tabs in either case. */
int ct_flame_tabs_open(struct ct_flame *flame, const struct ct_list *files,
		       const struct ct_list *bases);
void ct_flame_tabs_release(struct ct_flame *flame);

/* flame_text.c
 *
 * Text of a profile inside a page or picture. */

/* Returns the number of bytes (1 or more) of the first letter of TEXT; LETTER is U+FFFD if it is
 * not UTF-8. */
size_t ct_flame_text_letter(const char *text, size_t length, uint32_t *letter);
/* Writes quoted JSON that is safe inside <script>: every character of markup is escaped. */
void ct_flame_text_json(FILE *to, const char *text);

/* Returns a shorter NAME for a narrow frame: without template arguments (STEP 1), and without
 * namespaces too (STEP 2). The name of an operator stays whole. The caller frees the result. */
char *ct_flame_text_shorter(const char *name, int step);

/* folded.c
 *
 * Stacks as lines, "main;work;inner 12", the format of flamegraph.pl and many others. Used by
 * folded and convert.
 */

struct ct_folded {
	const struct ct_profile *profile;
	size_t type;
	enum ct_frames_by by;
	bool threads;  /* the root of each stack is the thread's name */
	bool annotate; /* _[i] inlined, _[k] kernel, _[j] JIT */
};

/* WHAT is a struct ct_folded; see flame.c. */
void ct_folded_write(const void *what, FILE *to);

extern const struct ct_verb ct_verb_folded;

#endif
