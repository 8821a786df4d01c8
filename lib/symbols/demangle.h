/* SPDX-License-Identifier: BSD-3-Clause */
/* Readable names for mangled C++ (Itanium) and Rust (v0 and legacy) symbols. */
#ifndef CP_DEMANGLE_H
#define CP_DEMANGLE_H

#include <stddef.h>

/* Demangle MANGLED into TO, NUL-ended, without function parameters (and without Rust's hash).
 * Suffixes of the compiler stay: "foo [clone .cold]". Returns the length, or 0 if the caller must
 * use the raw name: MANGLED is not mangled, is malformed, or gives more than SIZE - 1 bytes; it is
 * a C++ name of over 900 characters; or it is a Rust name with non-ASCII identifiers. No
 * allocation, no lock. Hostile names take up to 400 KiB of stack, so the dump runs on a stack of
 * 512 KiB. */
size_t cp_demangle(const char *mangled, char *to, size_t size);

#endif
