/* UTF-8: names come from ELF files and from the program, a profile must be valid.
 * No allocation, no locale, any context. */
#ifndef CP_UTF8_H
#define CP_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* As Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF. */
bool cp_utf8_valid(const char *s, size_t n);

/* The bytes at S with each ill-formed part (Unicode's maximal subpart) replaced by U+FFFD.
 * TO has room for 3 * N bytes and does not overlap S; no NUL is added. Bytes written. */
size_t cp_utf8_repair(char *to, const char *s, size_t n);

#endif
