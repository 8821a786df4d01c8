/* SPDX-License-Identifier: BSD-3-Clause */
/* One spelling of C++ types. Compilers spell the types in a class's or template's name in their own
 * way; here they become what the demangler writes, so that a function has one name, inlined or not:
 *
 *     box<long unsigned int>         ->  box<unsigned long>
 *     find<const char*>              ->  find<char const*>
 *     box<{anonymous}::secret>       ->  box<(anonymous namespace)::secret>
 */
#ifndef CT_DWARF_SPELLING_H
#define CT_DWARF_SPELLING_H

#include <stddef.h>

/* Text of at most SIZE - 1 bytes; FULL says that some text did not fit. */
struct ct_dw_text {
	char *to;
	size_t size, length;
	int full;
};

void ct_dwarf_spelling_put(struct ct_dw_text *t, const char *text, size_t n);
/* Appends NAME, respelled. */
void ct_dwarf_spelling_name(struct ct_dw_text *t, const char *name);

#endif
