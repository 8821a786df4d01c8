/* What verbs print: on a terminal through a pager and with colours, else plain.
 *
 *     ct_out_begin();
 *     printf(...);
 *     return ct_out_end();
 */
#ifndef CT_OUT_H
#define CT_OUT_H

#include <stdbool.h>
#include <stdio.h>

enum ct_paint { CT_PLAIN, CT_BOLD, CT_DIM, CT_RED, CT_GREEN, CT_YELLOW };

/* Starts the pager ($PAGER, else less if there is one) when stdout is a terminal. */
void ct_out_begin(void);
/* Flushes and waits for the pager. CT_OK, or CT_FAILED and it is said why (disk full). */
int ct_out_end(void);
/* The escape sequence for what follows; "" where there are no colours. */
const char *ct_paint(enum ct_paint paint);
/* Text of a file: control characters, which could drive a terminal, become "?". */
void ct_out_text(FILE *to, const char *text);

#endif
