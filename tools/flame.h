/* What `cprof flame` draws, for its two writers. */
#ifndef CT_FLAME_H
#define CT_FLAME_H

#include <stdio.h>

#include "flame_tree.h"

struct ct_flame {
	const char *title;
	const char *file, *base_file; /* as the user named them; base_file NULL: no comparison */
	const struct ct_profile *profile, *base;
	size_t type; /* shown first */
	struct ct_frames frames;
	struct ct_tree tree;
};

/* The page: flame_page.c around flame_data.c's data. */
void ct_flame_page(const struct ct_flame *flame, FILE *to);
void ct_flame_data(const struct ct_flame *flame, FILE *to);
/* A picture that doesn't move: flame_svg.c. */
void ct_flame_svg(const struct ct_flame *flame, FILE *to);

/* tools/flame/ as text, ended by NULL; made by tools/flame/embed.sh. */
extern const char *const ct_flame_template[];
extern const char *const ct_flame_style[];
extern const char *const ct_flame_script[];

/* Text inside markup: <>&"' as entities, what XML can't hold as U+FFFD. */
void ct_flame_markup(FILE *to, const char *text, size_t length);

#endif
