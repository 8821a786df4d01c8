/* SPDX-License-Identifier: BSD-3-Clause */
/* Does a Rust v0 symbol contain punycode identifiers (with non-ASCII letters)?
 *
 * For demangle.c: libiberty's Rust demangler calls malloc for these identifiers, and only for
 * these. A dump must not call malloc while the program is inside malloc. Any context; bounded
 * recursion.
 */
#ifndef CP_RUSTNAME_H
#define CP_RUSTNAME_H

#include <stdbool.h>
#include <stddef.h>

#define CP_RUSTNAME_MAX 16384

/* Returns true if the LEN bytes at S (after "_R"; a NUL follows them) are well-formed and contain
 * no punycode, or can't contain any. Returns false if the name is malformed so that this is
 * unclear.
 *
 * Also returns false for binders of so many lifetimes that libiberty would count for ever. */
bool cp_rustname_is_plain(const char *s, size_t len);

#endif
