/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats text into a fixed buffer, and reads text: no allocation, no locale, no lock. Any context.
 */
#ifndef CP_TEXT_H
#define CP_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Understands printf's %s %.*s %c %d %i %u %x %% with l, ll and z, a minimum width and zero
 * padding (%04u). Ends TO with NUL if size > 0. Returns the length written (cut to size - 1),
 * never the length that the whole text would have. */
size_t cp_text_format(char *to, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
size_t cp_text_vformat(char *to, size_t size, const char *fmt, va_list ap);

/* Parses an unsigned number at *S in BASE (10 or 16) and moves *S past it. Returns 0, -EINVAL
 * without a digit, or -ERANGE above UINT64_MAX; outputs are unchanged on failure. */
int cp_text_parse_u64(const char **s, unsigned base, uint64_t *value);

/* Returns the length of the UTF-8 character at S, N > 0 bytes of text; 1 if it is ill-formed; 0 if
 * it is cut off at the end. Sets *SAFE if the character may be shown in a line on a terminal: it is
 * well-formed, no control character but a tab, and no mark that reorders text or ends the line. */
unsigned cp_text_character(const char *s, size_t n, bool *safe);

/* Returns whether S begins with PREFIX. */
static inline bool cp_text_begins(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* Returns the length of the directories with which both A and B begin, without the last slash. */
static inline size_t cp_text_shared_directories(const char *a, const char *b)
{
	size_t n = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			n = i;
	return n;
}

#endif
