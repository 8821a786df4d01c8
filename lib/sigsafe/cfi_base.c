/* The frame pointer of a function that counts from it, when only sp is known; see cfi.h.
 *
 * A thread that waits in the kernel shows pc and sp. Most wrappers of system calls leave the
 * frame pointer in its register, where nobody can read it, and every function that was
 * compiled without optimization counts from it. But what such a function takes off sp is
 * in its first instructions, and where its return address would be then must be one: behind
 * a call, and of this function. Where the stack was also moved otherwise (alloca), the words
 * above sp are tried.
 */
#include "sigsafe/cfi.h"

#define CODE 112     /* bytes of a function's begin that are looked at */
#define SCANNED 2048 /* words above sp */

enum belief { NO, OTHER, POSSIBLE, SURE };

struct base {
	struct cp_cfi_frame *f;
	uint64_t start;	    /* of the function */
	int64_t ra_from_fp; /* where its return address is */
	bool copy;
};

static bool applies(const struct cp_cfi_fde *fde, const struct cp_cfi_row *row)
{
	return CP_CFI_KIND(row->cfa) == CP_CFI_REGISTER && CP_CFI_VALUE(row->cfa) == CP_REG_FP &&
	       CP_CFI_KIND(row->rules[fde->ra_column]) == CP_CFI_OFFSET;
}

/* Is FP the function's frame pointer? By the call before what would be its return address. */
static enum belief believe(const struct base *b, uint64_t fp)
{
	struct cp_cfi_module m;
	uint64_t ra, to;

	if (!cp_stackmem_read(&b->f->stack, fp + (uint64_t)b->ra_from_fp, &ra))
		return NO;
	ra = cp_cfi_strip(ra);
	if (ra >> CP_CFI_PC_BITS || !cp_cfi_module_find(ra, &m) || !cp_cfi_behind_call(ra, b->copy))
		return NO;
	to = cp_cfi_called(ra, b->copy);
	return !to ? POSSIBLE : to == b->start ? SURE : OTHER;
}

static uint64_t by_prologue(const struct base *b)
{
	uint8_t code[CODE];
	int64_t size;

	if (!cp_cfi_read_code(b->start, code, sizeof(code), b->copy))
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
		/* A call to another function, which jumped to this one, comes last. */
		if (found)
			fp = found;
		else if (belief == NO)
			return false;
	}
	f->regs.r[CP_REG_FP] = fp;
	f->known |= UINT64_C(1) << CP_REG_FP;
	return true;
}
