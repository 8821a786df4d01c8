/* A sorted table for a module that has call frame information, but no table of its linker's:
 * ld --no-eh-frame-hdr, or a header whose table was left out.
 */
#ifndef CP_CFI_BUILD_H
#define CP_CFI_BUILD_H

#include "sigsafe/cfi_module.h"

/* Has M a table that the handler can search? COPY: the module may go away meanwhile, and is read by
 * the kernel. */
bool cp_cfi_has_table(const struct cp_cfi_module *m, bool copy);

/* What is known of a module that has no table. */
struct cp_cfi_place {
	uint64_t segment, segment_end; /* read-only, with what the file has of it */
	uint64_t bias;		       /* from the file's addresses to the module's */
	const char *path;	       /* of its file; NULL = not known */
	bool code;		       /* some segment of it is executable */
	bool asked, sections;	       /* the file was; it has sections */
	uint64_t eh_frame;	       /* where they say that it is; 0 = nowhere */
};

/* Look for M's .eh_frame: where the header says, where its file's section is, or, if there is code
 * but no file any more, by a scan of the segment, as long as that is not large. NULL: there is
 * none, or no memory. */
struct cp_cfi_table *cp_cfi_build(const struct cp_cfi_module *m, struct cp_cfi_place *p, bool copy);
void cp_cfi_build_release(const struct cp_cfi_table *t);

#endif
