/* SPDX-License-Identifier: BSD-3-Clause */
/* CPROF_UNWIND=fp: follows the chain of frame pointers.
 *
 * Both ports store {caller's frame pointer, return address} at the frame pointer. The result is
 * correct if all code was built with frame pointers. Otherwise frames are missing or the walk ends
 * early, which it can't detect.
 */
#include "unwind/signal/unwind_signal.h"

#define LOWEST_PC 4096

static inline bool plausible(uint64_t ra)
{
	return ra >= LOWEST_PC && ra >> CP_CFI_PC_BITS == 0;
}

/* Read the frame record at *FP: set *RA to its return address, and move *FP to the next record.
 * Returns 0 = the chain ends here properly, 1 = a frame, -1 = the chain is broken. */
static inline int step_frame(struct cp_stackmem *m, uint64_t *fp, uint64_t *above, uint64_t *ra)
{
	uint64_t next;

	if (*fp == 0)
		return 0;
	/* All frames of a thread on its own stack are there, so a pointer that leads elsewhere is
	 * not followed. */
	if (m->direct_size && *fp - m->direct_low >= m->direct_size)
		return -1;
	if (*fp < *above || *fp % sizeof(uint64_t) || !cp_stackmem_read(m, *fp, &next) ||
	    !cp_stackmem_read(m, *fp + sizeof(uint64_t), ra))
		return -1;
	*above = *fp + 2 * sizeof(uint64_t);
	*fp = next;
	*ra = cp_cfi_strip(*ra);
	return *ra == 0 ? 0 : plausible(*ra) ? 1 : -1;
}

unsigned cp_unwind_fp_walk(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			   enum cp_unwind_end *end)
{
	uint64_t fp = in->regs.r[CP_REG_FP], above = in->regs.r[CP_REG_SP], ra;
	struct cp_stackmem m;
	unsigned n = 1;
	int r;

	cp_stackmem_init(&m, above, in->stack_low, in->stack_high);
	m.room = in->room;
	pcs[0] = in->regs.r[CP_REG_PC];
	while ((r = step_frame(&m, &fp, &above, &ra)) > 0) {
		if (n == max) {
			*end = CP_UNWIND_TRUNCATED;
			return n;
		}
		pcs[n++] = ra - 1;
	}
	*end = r == 0 ? CP_UNWIND_COMPLETE : CP_UNWIND_INCOMPLETE;
	return n;
}
