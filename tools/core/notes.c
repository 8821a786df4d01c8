/* SPDX-License-Identifier: BSD-3-Clause */
/* Comments that begin with "note: "; see report.h. */
#include "core/report.h"

#include <stdlib.h>
#include <string.h>

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

void ct_notes_say(const struct ct_profile *p)
{
	const char *before = is_of_several(p) ? "of one process or more: " : "";

	for (size_t i = 0; i < p->comment_count; i++) {
		const char *text = ct_notes_comment(p, i);

		if (strncmp(text, "note: ", 6) || !ct_notes_is_new(text))
			continue;
		fprintf(stderr, "cprof: note: %s", before);
		ct_out_text(stderr, text + 6);
		fputc('\n', stderr);
	}
}
