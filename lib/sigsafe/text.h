/* Text into a fixed buffer: no allocation, no locale, no lock, any context. */
#ifndef CP_TEXT_H
#define CP_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* printf's %s %.*s %c %d %i %u %x %% with l, ll and z, a minimum width and zero
 * padding (%04u). Always ends TO with NUL when size > 0; returns the length
 * written (cut to size - 1), never the length it would have had. */
size_t cp_format(char *to, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
size_t cp_vformat(char *to, size_t size, const char *fmt, va_list ap);

/* Unsigned number at *S in BASE (10 or 16), *S moved behind it. 0, or -EINVAL
 * without a digit, -ERANGE above UINT64_MAX; outputs untouched on failure. */
int cp_parse_u64(const char **s, unsigned base, uint64_t *value);

#endif
