/* Readable names for mangled C++ (Itanium) and Rust (v0 and legacy) symbols. */
#ifndef CP_DEMANGLE_H
#define CP_DEMANGLE_H

#include <stddef.h>

/* Name of MANGLED without function parameters (and without Rust's hash) into TO, NUL-ended. The
 * length, or 0 when it is not mangled, malformed or longer than SIZE - 1: then use the raw name. No
 * allocation, no lock; uses up to ~0.5 MiB of stack: the dump runs on one of that size. */
size_t cp_demangle(const char *mangled, char *to, size_t size);

#endif
