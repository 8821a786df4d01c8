/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of `cprof flame`: one file with the scripts, the style sheet and the profile. */
#include <stdlib.h>
#include <string.h>

#include "flame/flame.h"

static void lines(const char *const *text, FILE *to)
{
	for (; *text; text++)
		fputs(*text, to);
}

static void filled(const struct ct_flame *flame, const char *line, FILE *to)
{
	static const char *const places[] = { "@TITLE@", "@STYLE@", "@PROFILE@", "@SCRIPT@" };
	const char *at = NULL;
	size_t i;

	for (i = 0; i < 4 && !at; i++)
		at = strstr(line, places[i]);
	if (!at) {
		fputs(line, to);
		return;
	}
	fwrite(line, 1, at - line, to);
	switch (i - 1) {
	case 0: ct_flame_text_markup(to, flame->title, strlen(flame->title)); break;
	case 1: lines(ct_flame_style, to); break;
	case 2: ct_flame_data(flame, to); break;
	default: lines(ct_flame_script, to); break;
	}
	fputs(at + strlen(places[i - 1]), to);
}

void ct_flame_page(const struct ct_flame *flame, FILE *to)
{
	for (const char *const *line = ct_flame_template; *line; line++)
		filled(flame, *line, to);
}
