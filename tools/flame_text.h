/* Text of a profile inside a page or picture; see flame_text.c. */
#ifndef CT_FLAME_TEXT_H
#define CT_FLAME_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The bytes of the first letter of TEXT (1 or more); LETTER is U+FFFD for what is no UTF-8. */
size_t ct_flame_letter(const char *text, size_t length, uint32_t *letter);
/* Quoted JSON that may stand inside <script>: no character of markup is left as it is. */
void ct_flame_json(FILE *to, const char *text);

/* What a narrow frame says instead of NAME: without template arguments (STEP 1), and without
 * namespaces too (STEP 2). To be freed. The name of an operator stays whole. */
char *ct_flame_shorter(const char *name, int step);

#endif
