/* SPDX-License-Identifier: BSD-3-Clause */
/* The data that `cprof flame` draws, for its two writers. */
#ifndef CT_FLAME_H
#define CT_FLAME_H

#include <stdio.h>

#include "core/verb.h"
#include "flame/flame_tree.h"

/* All files of the same sample types. */
struct ct_flame_tab {
	const char *name;	/* "CPU", "Heap" */
	char *file, *base_file; /* as the user named them; base_file NULL: no comparison */
	struct ct_profile *profile, *base;
	size_t type; /* shown first */
	struct ct_tree tree;
};

struct ct_flame {
	const char *title;
	struct ct_flame_tab *tabs;
	size_t tab_count, tab_room,
		first; /* FIRST is the tab that is shown first, and the one that a picture shows */
	struct ct_frames frames; /* of all tabs */
};

/* Does NAME say which tab to draw? */
bool ct_flame_is_output(const char *name);

/* Writes the page: flame_page.c, around flame_data.c's data. */
void ct_flame_page(const struct ct_flame *flame, FILE *to);
void ct_flame_data(const struct ct_flame *flame, FILE *to);
/* Writes a static picture: flame_svg.c. */
void ct_flame_svg(const struct ct_flame *flame, FILE *to);

/* The files of tools/flame/ as text, ended by NULL; made by tools/flame/embed.sh. */
extern const char *const ct_flame_template[];
extern const char *const ct_flame_style[];
extern const char *const ct_flame_script[];

/* Writes text inside markup: <>&"' as entities, characters that XML can't hold as U+FFFD. */
void ct_flame_text_markup(FILE *to, const char *text, size_t length);

extern const struct ct_verb ct_verb_flame;

#endif
