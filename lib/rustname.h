/* Does a Rust v0 symbol hold punycode identifiers (with non-ASCII letters)?
 *
 * For demangle.c: libiberty's Rust demangler calls malloc for those, and only for those, which a
 * dump may not do while the program is inside malloc. Any context; bounded recursion.
 */
#ifndef CP_RUSTNAME_H
#define CP_RUSTNAME_H

#include <stdbool.h>
#include <stddef.h>

#define CP_RUSTNAME_MAX 16384

/* Also looks for binders of so many lifetimes that libiberty would count for ever.
 *
 * True when the LEN bytes at S (behind "_R", NUL after them) are well-formed and hold none, or
 * can't hold any. False also when the name is malformed in a way that makes it unclear. */
bool cp_rustname_is_plain(const char *s, size_t len);

#endif
