/* SPDX-License-Identifier: BSD-3-Clause */
/* The last instructions of code without call frame information, as a run time (V8) generates it and
 * has it in its own text, too. cfi_guess.c calls this before it looks at the words on the stack.
 *
 * Such code removes its caller's arguments: it pops the return address, moves sp, pushes the
 * address again and returns. If it ends in a jump to another function, it restores the caller's
 * frame pointer before it frees its own frame. In both cases the frame pointer is already the
 * caller's, so following it would miss one frame. This file reads what the code does at the place
 * where it was interrupted. cfi_guess.c judges whether the address can be a return address.
 */
#include "unwind/signal/unwind_signal.h"

#if CP_CFI_CALL_PUSHES

#define FRAME 16 /* words above sp that are searched for the start of a frame */

/* Uses all registers, which are known for code that a signal interrupted. */
static __attribute__((noinline)) bool by_register(struct cp_cfi_frame *f, bool copy, uint64_t *ra,
						  uint64_t *sp)
{
	uint8_t code[CP_CFI_RETURN_BYTES];
	unsigned moves, reg;

	if (!cp_cfi_code_read(f->regs.r[CP_REG_PC], code, sizeof(code), copy))
		return false;
	moves = cp_cfi_moves_sp(code);
	reg = cp_cfi_returns_to(code + moves);
	if (reg >= CP_REGS || !(f->known >> reg & 1))
		return false;
	*ra = f->regs.r[reg];
	*sp = moves ? cp_cfi_moved_sp(code, f->regs.r) : f->regs.r[CP_REG_SP];
	return *sp >= f->regs.r[CP_REG_SP];
}

/* The frame pointer is already the caller's, but sp has not moved yet: the frame on the stack still
 * begins with the saved frame pointer, the same value. */
static __attribute__((noinline)) bool by_record(struct cp_cfi_frame *f, bool copy, uint64_t *ra,
						uint64_t *sp)
{
	uint8_t code[CP_CFI_UNLINKED_BYTES + 16] = { 0 };
	uint64_t word;

	*sp = f->regs.r[CP_REG_SP];
	if (!(f->known >> CP_REG_FP & 1) ||
	    !cp_cfi_code_read(f->regs.r[CP_REG_PC] - CP_CFI_UNLINKED_BYTES, code,
			      CP_CFI_UNLINKED_BYTES, copy) ||
	    !cp_cfi_unlinked(code, CP_CFI_UNLINKED_BYTES))
		return false;
	for (unsigned i = 0; i < FRAME; i++, *sp += sizeof(word)) {
		if (!cp_stackmem_read(&f->stack, *sp, &word))
			return false;
		if (word != f->regs.r[CP_REG_FP] ||
		    !cp_stackmem_read(&f->stack, *sp + sizeof(word), ra) ||
		    !cp_cfi_code_behind_call(*ra, copy))
			continue;
		*sp += 2 * sizeof(word);
		return true;
	}
	return false;
}

bool cp_cfi_epilogue_is_leaving(struct cp_cfi_frame *f, bool copy, uint64_t *ra, uint64_t *sp)
{
	return by_register(f, copy, ra, sp) || by_record(f, copy, ra, sp);
}

#else

/* On this architecture the return address is in its register. */
bool cp_cfi_epilogue_is_leaving(struct cp_cfi_frame *f, bool copy, uint64_t *ra, uint64_t *sp)
{
	return false;
}

#endif
