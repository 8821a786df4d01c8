/* The last instructions of code without call frame information, as a run time (V8) generates it and
 * puts it into its own text: for cfi_guess.c, which asks before it looks at the stack's words.
 *
 * Such code takes its caller's arguments away: it pops the return address, moves sp, pushes the
 * address again and returns. And it gives the caller its frame pointer back before it frees its own
 * frame, where it jumps to another function at its end. In both the frame pointer is the caller's:
 * by it one frame would be missed. What the code does is read where it was interrupted; whether the
 * address can be one of its caller is for who asks.
 */
#include "sigsafe/cfi.h"

#if CP_CFI_CALL_PUSHES

#define FRAME 16 /* words above sp where a frame's begin is looked for */

/* The registers of what a signal interrupted are all known. */
static __attribute__((noinline)) bool by_register(struct cp_cfi_frame *f, bool copy, uint64_t *ra,
						  uint64_t *sp)
{
	uint8_t code[CP_CFI_RETURN_BYTES];
	unsigned moves, reg;

	if (!cp_cfi_read_code(f->regs.r[CP_REG_PC], code, sizeof(code), copy))
		return false;
	moves = cp_cfi_moves_sp(code);
	reg = cp_cfi_returns_to(code + moves);
	if (reg >= CP_REGS || !(f->known >> reg & 1))
		return false;
	*ra = f->regs.r[reg];
	*sp = moves ? cp_cfi_moved_sp(code, f->regs.r) : f->regs.r[CP_REG_SP];
	return *sp >= f->regs.r[CP_REG_SP];
}

/* The frame is still there: it begins with the frame pointer that the register has again. */
static __attribute__((noinline)) bool by_record(struct cp_cfi_frame *f, bool copy, uint64_t *ra,
						uint64_t *sp)
{
	uint8_t code[CP_CFI_UNLINKED_BYTES + 16] = { 0 };
	uint64_t word;

	*sp = f->regs.r[CP_REG_SP];
	if (!(f->known >> CP_REG_FP & 1) ||
	    !cp_cfi_read_code(f->regs.r[CP_REG_PC] - CP_CFI_UNLINKED_BYTES, code,
			      CP_CFI_UNLINKED_BYTES, copy) ||
	    !cp_cfi_unlinked(code, CP_CFI_UNLINKED_BYTES))
		return false;
	for (unsigned i = 0; i < FRAME; i++, *sp += sizeof(word)) {
		if (!cp_stackmem_read(&f->stack, *sp, &word))
			return false;
		if (word != f->regs.r[CP_REG_FP] ||
		    !cp_stackmem_read(&f->stack, *sp + sizeof(word), ra) ||
		    !cp_cfi_behind_call(*ra, copy))
			continue;
		*sp += 2 * sizeof(word);
		return true;
	}
	return false;
}

bool cp_cfi_is_leaving(struct cp_cfi_frame *f, bool copy, uint64_t *ra, uint64_t *sp)
{
	return by_register(f, copy, ra, sp) || by_record(f, copy, ra, sp);
}

#else

/* The return address is in its register there. */
bool cp_cfi_is_leaving(struct cp_cfi_frame *f, bool copy, uint64_t *ra, uint64_t *sp)
{
	return false;
}

#endif
