/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the frame pointer of a function that counts from it, when only sp is known; see
 * unwind_signal.h.
 *
 * For a thread that waits in the kernel, pc and sp are known. Most wrappers of system calls leave
 * the frame pointer in its register, which can't be read, and every function that was compiled
 * without optimization counts from it. But the function's prologue shows how far it moves sp. The
 * word at the resulting position must then be a return address: after a call, and of a call to this
 * function. If the stack was also moved in other ways (alloca), the words above sp are tried.
 */
#include "unwind/signal/unwind_signal.h"

#define CODE 112     /* bytes of a function's prologue that are read */
#define SCANNED 2048 /* number of words above sp that are tried */

enum belief { NO, OTHER, POSSIBLE, SURE };

struct base {
	struct cp_cfi_frame *f;
	uint64_t start;	    /* start of the function */
	int64_t ra_from_fp; /* offset of its return address */
	bool copy;
};

static bool applies(const struct cp_cfi_fde *fde, const struct cp_cfi_row *row)
{
	return CP_CFI_KIND(row->cfa) == CP_CFI_REGISTER && CP_CFI_VALUE(row->cfa) == CP_REG_FP &&
	       CP_CFI_KIND(row->rules[fde->ra_column]) == CP_CFI_OFFSET;
}

/* Is FP the function's frame pointer? Judged by the call before the presumed return address. */
static enum belief believe(const struct base *b, uint64_t fp)
{
	struct cp_cfi_module m;
	uint64_t ra, to;

	if (!cp_stackmem_read(&b->f->stack, fp + (uint64_t)b->ra_from_fp, &ra))
		return NO;
	ra = cp_cfi_strip(ra);
	if (ra >> CP_CFI_PC_BITS || !cp_cfi_module_find(ra, &m) ||
	    !cp_cfi_code_behind_call(ra, b->copy))
		return NO;
	to = cp_cfi_code_called(ra, b->copy);
	return !to ? POSSIBLE : to == b->start ? SURE : OTHER;
}

static uint64_t by_prologue(const struct base *b)
{
	uint8_t code[CODE];
	int64_t size;

	if (!cp_cfi_code_read(b->start, code, sizeof(code), b->copy))
		return 0;
	size = cp_cfi_frame_size(code, sizeof(code));
	return size < 0 ? 0 : b->f->regs.r[CP_REG_SP] + (uint64_t)size;
}

static uint64_t by_words(const struct base *b)
{
	uint64_t fp = b->f->regs.r[CP_REG_SP];

	for (unsigned i = 0; i < SCANNED; i++, fp += sizeof(fp))
		if (believe(b, fp) == SURE)
			return fp;
	return 0;
}

bool cp_cfi_base(struct cp_cfi_frame *f, const struct cp_cfi_fde *fde, const struct cp_cfi_row *row,
		 bool copy)
{
	struct base b = { .f = f, .start = fde->start, .copy = copy };
	enum belief belief;
	uint64_t fp, found;

	if (f->known >> CP_REG_FP & 1 || !applies(fde, row))
		return false;
	b.ra_from_fp = (int64_t)row->cfa_offset + CP_CFI_VALUE(row->rules[fde->ra_column]);
	fp = by_prologue(&b);
	belief = fp ? believe(&b, fp) : NO;
	if (belief < POSSIBLE) {
		found = by_words(&b);
		/* FP is the last choice although the call there names another function, which may
		 * have jumped to this one. */
		if (found)
			fp = found;
		else if (belief == NO)
			return false;
	}
	f->regs.r[CP_REG_FP] = fp;
	f->known |= UINT64_C(1) << CP_REG_FP;
	return true;
}
