/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions whose FDE is wrong; see unwind_signal.h. */
#include "unwind/signal/unwind_signal.h"

#define PUSHES 8
#define SP_BASED CP_CFI_RULE(CP_CFI_REGISTER, 0, CP_REG_SP)
#define CODE 20 /* number of bytes at the start of a function that are read */

/* Read those of the N bytes at ADDR that are on the page of PC, which is being executed, so that
 * needn't be tested. Returns their number. */
static unsigned read_near(uint64_t addr, uint8_t *code, uint64_t n, uint64_t pc, bool copy)
{
	uint64_t page = pc & ~UINT64_C(4095);

	if (copy || addr < page)
		return cp_cfi_code_read(addr, code, n, copy) ? (unsigned)n : 0;
	if (n > page + 4096 - addr)
		n = page + 4096 - addr;
	for (uint64_t i = 0; i < n; i++) /* a call would use more of the stack */
		code[i] = ((const volatile uint8_t *)(uintptr_t)addr)[i];
	return (unsigned)n;
}

/* Restore the first N pushed registers from the words below RA_SLOT. */
static void restore_saved(struct cp_cfi_frame *f, const uint8_t *regs, unsigned n, uint64_t ra_slot)
{
	for (unsigned i = 0; i < n; i++)
		if (cp_stackmem_read(&f->stack, ra_slot - 8 * (i + 1), &f->regs.r[regs[i]]))
			f->known |= UINT64_C(1) << regs[i];
}

enum cp_cfi_result cp_cfi_quirks_pushes(struct cp_cfi_frame *f, const struct cp_cfi_fde *fde,
					bool copy)
{
	uint8_t code[CODE], regs[PUSHES];
	uint64_t sp = f->regs.r[CP_REG_SP], ra;
	unsigned n;

	if (!cp_cfi_says_nothing(fde))
		return CP_CFI_LOST;
	n = read_near(fde->start, code, sizeof(code), f->regs.r[CP_REG_PC] - 1, copy);
	n = cp_cfi_pushed(code, n, regs, PUSHES);
	/* Any number of the pushed registers may be on the stack, with the return address right
	 * above. */
	for (unsigned i = 0; n && i <= n; i++) {
		if (!cp_stackmem_read(&f->stack, sp + 8 * i, &ra))
			return CP_CFI_LOST;
		if (!cp_cfi_code_behind_call(ra, copy))
			continue;
		restore_saved(f, regs, i, sp + 8 * i);
		f->regs.r[CP_REG_PC] = ra;
		f->regs.r[CP_REG_SP] = sp + 8 * (i + 1);
		f->known &=
			CP_CFI_CALLEE_SAVED | UINT64_C(1) << CP_REG_PC | UINT64_C(1) << CP_REG_SP;
		return CP_CFI_STEPPED;
	}
	return CP_CFI_LOST;
}

/* Return true if the row for PC is too old: the instruction that ends at BEHIND has freed a part of
 * the frame, and the row that follows says that LEFT bytes are left. ROW is used for all rows, to
 * save space on the handler's stack. */
static bool is_of_what_is_left(const struct cp_cfi_fde *fde, uint64_t pc, uint64_t behind,
			       int32_t left, struct cp_cfi_row *row)
{
	struct cp_cfi_span span;

	return !cp_cfi_row_and_span(fde, pc, row, &span) && span.from < behind &&
	       span.to != UINT64_MAX && !cp_cfi_row(fde, span.to, row) && row->cfa == SP_BASED &&
	       row->cfa_offset == left;
}

/* Search the instructions before PC, back to START at most and within one page. */
static unsigned freed_before(uint64_t start, uint64_t pc, unsigned *behind, bool copy)
{
	uint64_t from =
		pc % 4096 < CP_CFI_FREED_BYTES ? pc & ~UINT64_C(4095) : pc - CP_CFI_FREED_BYTES;
	uint8_t code[CP_CFI_FREED_BYTES];

	if (from < start)
		from = start;
	return cp_cfi_freed(code, read_near(from, code, pc - from, pc, copy), behind);
}

bool cp_cfi_quirks_frees(uint64_t start, uint64_t pc)
{
	unsigned behind;

	return freed_before(start, pc, &behind, false) != 0;
}

bool cp_cfi_quirks_freed_early(const struct cp_cfi_fde *fde, uint64_t pc, struct cp_cfi_row *row,
			       bool copy)
{
	unsigned behind, freed;
	bool found;

	if (row->cfa != SP_BASED)
		return false;
	freed = freed_before(fde->start, pc, &behind, copy);
	if (!freed)
		return false;
	found = is_of_what_is_left(fde, pc, pc - behind, row->cfa_offset - (int32_t)freed, row);
	cp_cfi_row(fde, pc, row); /* restore the row; this succeeded before */
	if (found)
		row->cfa_offset -= (int32_t)freed;
	return found;
}
