/* A sorted table for a module that has call frame information, but no table of its linker's:
 * ld --no-eh-frame-hdr, or a header whose table was left out.
 */
#ifndef CP_CFI_BUILD_H
#define CP_CFI_BUILD_H

#include "sigsafe/cfi_module.h"

/* Has M a table that the handler can search? COPY: the module may go away meanwhile, and is read by
 * the kernel. */
bool cp_cfi_has_table(const struct cp_cfi_module *m, bool copy);

/* Look for .eh_frame in M: where the header says, else in [from, to), one of its read-only
 * segments. NULL: nothing was found, or there is no memory. */
struct cp_cfi_table *cp_cfi_build(const struct cp_cfi_module *m, uint64_t from, uint64_t to,
				  bool copy);
void cp_cfi_build_release(const struct cp_cfi_table *t);

#endif
