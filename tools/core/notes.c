/* SPDX-License-Identifier: BSD-3-Clause */
/* Comments that begin with "note: "; see report.h. */
#include "core/report.h"

#include <stdlib.h>
#include <string.h>

static struct {
	char **texts;
	size_t count, room;
} said;

static bool is_new(const char *text)
{
	for (size_t i = 0; i < said.count; i++)
		if (!strcmp(said.texts[i], text))
			return false;
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

void ct_notes_say(const struct ct_profile *p)
{
	for (size_t i = 0; i < p->comment_count; i++) {
		const char *text = ct_notes_comment(p, i);

		if (strncmp(text, "note: ", 6) || !is_new(text))
			continue;
		*CT_PUSH(said.texts, said.count, said.room) = ct_memory_strdup(text);
		fputs("cprof: ", stderr);
		ct_out_text(stderr, text);
		fputc('\n', stderr);
	}
}
