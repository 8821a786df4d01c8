/* SPDX-License-Identifier: BSD-3-Clause */
/* The screen of `cprof live`: what it shows, and the parts that draw it and that obey keys.
 * Everything is called by the main thread.
 */
#ifndef CT_LIVE_H
#define CT_LIVE_H

#include <stdbool.h>

#include "live/live_table.h"
#include "live/live_tree.h"
#include "live/live_watch.h"

#define CT_LIVE_LEAST_EVERY 0.5
#define CT_LIVE_MOST_EVERY 60
#define CT_LIVE_FILTER 64

enum ct_live_view { CT_LIVE_TABLE, CT_LIVE_FLAME, CT_LIVE_THREADS };

/* The names from the root of a tree to a frame, to be found again in another tree. */
struct ct_live_path {
	char **names;
	size_t count, room;
};

struct ct_live {
	int pid;
	char *program;
	struct ct_live_watch *watch;
	double every;

	/* What is shown: a view of a mode (COMPANION 0), or of one of its companions (1, ...). */
	enum ct_live_view view;
	int mode, companion;
	bool help, paused, by_total, ended;
	char filter[CT_LIVE_FILTER];
	bool typing;   /* the filter */
	size_t scroll; /* lines of the body that are above the screen */

	/* The last window of each mode and of its companions; NULL: none yet. */
	struct ct_profile *profiles[CT_MODES][1 + CT_COMPANIONS];
	/* The sample type that is shown, + 1; 0: the default. */
	size_t types[CT_MODES][1 + CT_COMPANIONS];
	bool watched[CT_MODES], started[CT_MODES];
	/* Made from the profile that is shown. */
	struct ct_live_table table;
	struct ct_live_tree tree;
	struct ct_live_frame *zoom, *chosen;	    /* of the tree; NULL: there is none */
	struct ct_live_path zoom_path, chosen_path; /* the same, while there is none */
	size_t flame_top; /* levels of the tree that are above the screen */
	char **lines;	  /* of the threads */
	size_t line_count, line_room;
	struct ct_profile *threads;

	/* What the process says of itself. */
	struct cp_control_message status;
	bool has_status;
	double status_time, cpu; /* CPU: of one processor, between the last two; below 0: unknown */
	unsigned long long cpu_ns;
	char *said; /* a message, or NULL */
};

/* ---- live.c ---- */

/* Shows the screen until the user leaves it. MODES: those to be watched, FIRST first. SETTINGS: as
 * for ct_live_watch_new. Returns the exit status. */
int ct_live(int pid, double every, int first, const bool *modes, const char *const *settings);
/* The profile that is shown, or NULL. */
struct ct_profile *ct_live_profile(const struct ct_live *l);
/* Makes the table and the tree anew, because another profile or type is shown. */
void ct_live_rebuild(struct ct_live *l);
/* Makes the lines of the threads anew. */
void ct_live_rebuild_lines(struct ct_live *l);
/* Does TEXT have what the filter says, in any case of letters? */
bool ct_live_matches(const struct ct_live *l, const char *text);

/* ---- live_keys.c ---- */

/* Obeys KEY. Returns false if the user wants to leave. */
bool ct_live_keys(struct ct_live *l, int key);

/* ---- live_draw.c ---- */

void ct_live_draw(struct ct_live *l);
/* Rows between the lines at the top and the line at the bottom. */
int ct_live_draw_body_rows(void);
#define CT_LIVE_BODY 3 /* its first row */

/* ---- live_body.c: the table and the threads ---- */

void ct_live_body(struct ct_live *l);

/* ---- live_flame.c ---- */

void ct_live_flame(struct ct_live *l);
/* Returns false if KEY is none of the flame graph's. */
bool ct_live_flame_key(struct ct_live *l, int key);
/* To be dropped. */
struct ct_live_path ct_live_flame_path(const struct ct_live_frame *frame);
void ct_live_flame_drop(struct ct_live_path *path);
/* Returns the frame of TREE to which PATH leads, as far as it is there, and drops PATH. If the tree
 * is empty, returns NULL and keeps PATH for the next one. */
struct ct_live_frame *ct_live_flame_find(struct ct_live_tree *tree, struct ct_live_path *path);

#endif
