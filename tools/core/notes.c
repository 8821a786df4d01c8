/* SPDX-License-Identifier: BSD-3-Clause */
/* Comments that begin with "note: "; see report.h. */
#include "core/report.h"

#include <stdlib.h>
#include <string.h>

/* The least part of the time shown, in per cent, that deserves a note. */
#define WORTH 10

static struct {
	char **texts;
	size_t count, room;
} said;

/* Do A and B say the same of two modes? Numbers may differ, and the advice after a semicolon. */
static bool is_same(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, "0123456789");
		b += strspn(b, "0123456789");
		if (*a != *b || !*a || *a == ';')
			return *a == *b;
	}
}

bool ct_notes_is_new(const char *text)
{
	for (size_t i = 0; i < said.count; i++)
		if (is_same(said.texts[i], text))
			return false;
	*CT_PUSH(said.texts, said.count, said.room) = ct_memory_strdup(text);
	return true;
}

const char *ct_notes_comment(const struct ct_profile *p, size_t i)
{
	const char *text = ct_text(p, p->comments[i]);

	return text + (strncmp(text, "# ", 2) ? 0 : 2);
}

void ct_notes_add(struct ct_profile *p, const char *text)
{
	char *comment = ct_memory_printf("# %s", text);

	ct_model_add_comment(p, ct_model_string(p, comment));
	free(comment);
}

/* Each process of a tree has notes, which don't hold for the whole of a merged profile. */
static bool is_of_several(const struct ct_profile *p)
{
	size_t processes = 0;

	for (size_t i = 0; i < p->comment_count; i++)
		processes += !strncmp(ct_notes_comment(p, i), "libcprof ", 9);
	return processes > 1;
}

/* Returns the share of a wall profile's time in which threads ran; of another profile's 1. */
static double running_share(const struct ct_profile *p)
{
	size_t type = p->type_count ? ct_model_default_type(p) : 0;
	double running = 0, all = 0;

	if (!p->type_count || strcmp(ct_text(p, p->types[type].type), "wall") != 0)
		return 1;
	for (size_t i = 0; i < p->sample_count; i++) {
		const struct ct_label *state = ct_model_label(p, p->samples[i].label_set, "state");
		double value = (double)ct_values(p, i)[type];

		all += value;
		running += !state || !strcmp(ct_text(p, state->text), "running") ? value : 0;
	}
	return all > 0 ? running / all : 0;
}

/* Which function has the CPU time hardly matters where nearly all of the time shown is waiting. */
static bool matters(const struct ct_profile *p, const char *note)
{
	char *end;
	double percent = strtod(note, &end);

	return !ct_starts(end, " % of the CPU time is of threads ") ||
	       percent * running_share(p) >= WORTH;
}

void ct_notes_say(const struct ct_profile *p)
{
	const char *before = is_of_several(p) ? "of one process or more: " : "";

	for (size_t i = 0; i < p->comment_count; i++) {
		const char *text = ct_notes_comment(p, i);

		if (strncmp(text, "note: ", 6) || !matters(p, text + 6) || !ct_notes_is_new(text))
			continue;
		fprintf(stderr, "cprof: note: %s", before);
		ct_out_text(stderr, text + 6);
		fputc('\n', stderr);
	}
}
