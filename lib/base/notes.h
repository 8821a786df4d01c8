/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes: facts about a run that are worth knowing but are no failure. Each note becomes a comment,
 * "note: ...", of every file that is written afterwards, and `cprof run` shows it. Notes go to
 * stderr only when CPROF_VERBOSE is set, because the program's stderr may be compared.
 *
 * cp_log is for problems that the user has to act on: a setting that can't be honoured, a profile
 * that can't be made.
 */
#ifndef CP_NOTES_H
#define CP_NOTES_H

#include <stdbool.h>

/* The first note of each kind is kept. */
enum cp_notes_note {
	CP_NOTE_DUMP_SIGNAL,
	CP_NOTE_HANDLER,
	CP_NOTE_CPU_TIMER,
	CP_NOTE_WALL_TIMER,
	CP_NOTE_BLOCKING,
	CP_NOTE_TRACED,
	CP_NOTE_CAUGHT,
	CP_NOTE_COLLECTOR,
	CP_NOTE_END,
	CP_NOTE_PROC,
	CP_NOTES
};

/* Starts a session without notes. Ordinary context. */
void cp_notes_begin(bool verbose);
/* Records a note. Any context. */
void cp_notes_note(enum cp_notes_note which, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns the note, or NULL if there is none. */
const char *cp_notes_get(enum cp_notes_note which);
/* In a fork child: drops the notes about the parent's threads. */
void cp_notes_fork_child(void);

#endif
