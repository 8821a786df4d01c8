/* Readable names for mangled C++ (Itanium) and Rust (v0 and legacy) symbols. */
#ifndef CP_DEMANGLE_H
#define CP_DEMANGLE_H

#include <stddef.h>

/* Name of MANGLED without function parameters (and without Rust's hash) into TO, NUL-ended.
 * Suffixes of the compiler stay: "foo [clone .cold]". The length, or 0 when it is not mangled,
 * malformed or longer than SIZE - 1, and for C++ names of over 900 characters and Rust names with
 * non-ASCII identifiers: then use the raw name. No allocation, no lock; takes up to 400 KiB of
 * stack for hostile names, so the dump runs on one of 512 KiB. */
size_t cp_demangle(const char *mangled, char *to, size_t size);

#endif
