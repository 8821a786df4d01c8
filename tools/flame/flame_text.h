/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of a profile inside a page or picture; see flame_text.c. */
#ifndef CT_FLAME_TEXT_H
#define CT_FLAME_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Returns the number of bytes (1 or more) of the first letter of TEXT; LETTER is U+FFFD if it is
 * not UTF-8. */
size_t ct_flame_text_letter(const char *text, size_t length, uint32_t *letter);
/* Writes quoted JSON that is safe inside <script>: every character of markup is escaped. */
void ct_flame_text_json(FILE *to, const char *text);

/* Returns a shorter NAME for a narrow frame: without template arguments (STEP 1), and without
 * namespaces too (STEP 2). The name of an operator stays whole. The caller frees the result. */
char *ct_flame_text_shorter(const char *name, int step);

#endif
