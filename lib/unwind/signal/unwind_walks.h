/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk functions, which run in handlers, of the unwinders in unwinder.h. lib/unwind/unwinders.c
 * has the tables of these functions. */
#ifndef CP_UNWIND_WALKS_H
#define CP_UNWIND_WALKS_H

#include "sample/unwinder.h"

unsigned cp_unwind_fp_walk(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			   enum cp_unwind_end *end);
unsigned cp_unwind_dwarf_walk(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			      enum cp_unwind_end *end);
/* The same walk if rules.h has a rule for every frame; returns 0 if not. Reads no module's memory
 * except that of modules that stay to the end, and no list of modules. So it needs no gate while
 * modules may go away, except modules on the stack itself. */
unsigned cp_unwind_dwarf_by_rules(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
				  enum cp_unwind_end *end);
unsigned cp_unwind_libunwind_walk(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
				  enum cp_unwind_end *end);

#endif
