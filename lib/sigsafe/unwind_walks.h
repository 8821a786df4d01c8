/* The event halves of the unwinders of unwind.h, whose tables stand in lib/unwinders.c. */
#ifndef CP_UNWIND_WALKS_H
#define CP_UNWIND_WALKS_H

#include "sigsafe/unwind.h"

unsigned cp_unwind_fp_walk(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			   enum cp_unwind_end *end);
unsigned cp_unwind_dwarf_walk(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			      enum cp_unwind_end *end);
/* The same as far as rules.h knows every frame; 0: it doesn't. Reads nothing of modules, but of
 * those that stay to the end, and looks at no list of them: without the gate, while any may go that
 * is none of the stack's own. */
unsigned cp_unwind_dwarf_by_rules(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
				  enum cp_unwind_end *end);
unsigned cp_unwind_libunwind_walk(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
				  enum cp_unwind_end *end);

#endif
