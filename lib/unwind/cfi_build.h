/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds a sorted table for a module that has call frame information but no sorted table from its
 * linker: ld --no-eh-frame-hdr, or a header whose table was left out. */
#ifndef CP_CFI_BUILD_H
#define CP_CFI_BUILD_H

#include "unwind/signal/cfi_module.h"

/* Has M a table that the handler can search? COPY: the module may go away meanwhile, so the kernel
 * copies its memory. */
bool cp_cfi_build_has_table(const struct cp_cfi_module *m, bool copy);

/* Facts about a module that has no table. */
struct cp_cfi_place {
	uint64_t segment, segment_end; /* read-only segment, up to the end of its file contents */
	uint64_t bias;		       /* from addresses in the file to addresses in the module */
	const char *path;	       /* leads to the module's file; NULL = unknown */
	bool code;		       /* some segment of the module is executable */
	bool asked, sections;	       /* the file was examined; it has sections */
	uint64_t eh_frame;	       /* address according to the sections; 0 = none */
};

/* Look for M's .eh_frame: at the header's address, in its section of the file, or, if the module
 * has code but its file is gone, by a scan of the segment unless that is large. Returns a table for
 * it, or NULL if there is no .eh_frame or no memory. */
struct cp_cfi_table *cp_cfi_build(const struct cp_cfi_module *m, struct cp_cfi_place *p, bool copy);
void cp_cfi_build_release(const struct cp_cfi_table *t);

#endif
