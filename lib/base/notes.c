/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes about a run; see base.h. */
#include "base/base.h"

#include "base/atomic.h"
#include "base/text.h"

enum { EMPTY, CHANGING, FULL };

static struct {
	uint32_t state;
	char text[248]; /* a comment has 256 bytes */
} notes[CP_NOTES];
static bool says;

void cp_notes_begin(bool verbose)
{
	for (unsigned i = 0; i < CP_NOTES; i++)
		cp_store_relaxed(&notes[i].state, EMPTY);
	says = verbose;
}

void cp_notes_note(enum cp_notes_note which, const char *fmt, ...)
{
	uint32_t empty = EMPTY;
	va_list ap;

	if (!cp_cas_acqrel(&notes[which].state, &empty, CHANGING))
		return;
	va_start(ap, fmt);
	cp_text_vformat(notes[which].text, sizeof(notes[which].text), fmt, ap);
	va_end(ap);
	cp_store_release(&notes[which].state, FULL);
	if (says)
		cp_log("%s", notes[which].text);
}

const char *cp_notes_get(enum cp_notes_note which)
{
	return cp_load_acquire(&notes[which].state) == FULL ? notes[which].text : NULL;
}

void cp_notes_fork_child(void)
{
	for (unsigned i = 0; i < CP_NOTES; i++)
		if (i != CP_NOTE_DUMP_SIGNAL && i != CP_NOTE_HANDLER && i < CP_NOTE_ATTACHED &&
		    cp_load_relaxed(&notes[i].state) != EMPTY)
			cp_store_relaxed(&notes[i].state, EMPTY);
}
