/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of verbs: through a pager and with colours on a terminal, else plain.
 *
 *     ct_out_begin();
 *     printf(...);
 *     return ct_out_end();
 */
#ifndef CT_OUT_H
#define CT_OUT_H

#include <stdbool.h>
#include <stdio.h>

enum ct_out_paint { CT_PLAIN, CT_BOLD, CT_DIM, CT_RED, CT_GREEN, CT_YELLOW, CT_PAINTS };

/* Starts the pager ($PAGER, else less if it is installed) if stdout is a terminal. */
void ct_out_begin(void);
/* Flushes and waits for the pager. Returns CT_OK, or CT_FAILED after a message (disk full). */
int ct_out_end(void);
/* Returns the escape sequence for the text that follows; "" if there are no colours. */
const char *ct_out_paint(enum ct_out_paint paint);
/* Writes text of a file in a line: besides what the guard below replaces, line breaks become "?".
 */
void ct_out_text(FILE *to, const char *text);
/* Returns NAME as a word of a shell's command, quoted if needed. The caller frees it. */
char *ct_out_word(const char *name);

/* ---- the guard (out_guard.c) ---- */

/* Has stdout and stderr replace what could drive a terminal: first thing in main. */
void ct_out_guard(void);
/* Does so in the N bytes of TEXT. Returns how many are left. */
size_t ct_out_guard_clean(char *text, size_t n);
/* Standard output without the guard: for profiles, which are no text, and for curses, which knows
 * what it may write. */
FILE *ct_out_guard_past(void);
/* Returns the mark that the guard replaces by the colour's escape sequence. */
const char *ct_out_guard_paint(enum ct_out_paint paint);

#endif
