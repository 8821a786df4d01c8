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

enum ct_out_paint { CT_PLAIN, CT_BOLD, CT_DIM, CT_RED, CT_GREEN, CT_YELLOW };

/* Starts the pager ($PAGER, else less if it is installed) if stdout is a terminal. */
void ct_out_begin(void);
/* Flushes and waits for the pager. Returns CT_OK, or CT_FAILED after a message (disk full). */
int ct_out_end(void);
/* Returns the escape sequence for the text that follows; "" if there are no colours. */
const char *ct_out_paint(enum ct_out_paint paint);
/* Writes text of a file: control characters, which could drive a terminal, become "?". */
void ct_out_text(FILE *to, const char *text);
/* Returns NAME as a word of a shell's command, quoted if needed. The caller frees it. */
char *ct_out_word(const char *name);

#endif
