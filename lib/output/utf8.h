/* SPDX-License-Identifier: BSD-3-Clause */
/* UTF-8 checks. Names come from ELF files and from the program and may be invalid; a profile must
 * be valid. No allocation, no locale, any context. */
#ifndef CP_UTF8_H
#define CP_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Is it valid as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF? */
bool cp_utf8_valid(const char *s, size_t n);

/* Copy the bytes at S to TO, with each ill-formed part (Unicode's maximal subpart) replaced by
 * U+FFFD. TO must have room for 3 * N bytes and must not overlap S. No NUL is added. Returns the
 * number of bytes written. */
size_t cp_utf8_repair(char *to, const char *s, size_t n);

#endif
