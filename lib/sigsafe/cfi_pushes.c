/* Functions whose FDE keeps silent about their pushes; see cfi.h. */
#include "sigsafe/cfi.h"

#define PUSHES 8
#define CODE 20 /* bytes at the begin of a function that are looked at */

static bool says_nothing(const struct cp_cfi_fde *fde)
{
	const uint8_t *p = fde->program.p;

	while (p < fde->program.end && *p == 0)
		p++;
	return p == fde->program.end && !fde->signal;
}

/* The first N pushed registers, back from the words under RA_SLOT. */
static void restore(struct cp_cfi_frame *f, const uint8_t *regs, unsigned n, uint64_t ra_slot)
{
	for (unsigned i = 0; i < n; i++)
		if (cp_stackmem_read(&f->stack, ra_slot - 8 * (i + 1), &f->regs.r[regs[i]]))
			f->known |= UINT64_C(1) << regs[i];
}

enum cp_cfi_result cp_cfi_pushes(struct cp_cfi_frame *f, const struct cp_cfi_fde *fde, bool copy)
{
	uint8_t code[CODE], regs[PUSHES];
	uint64_t sp = f->regs.r[CP_REG_SP], ra;
	unsigned n;

	if (!says_nothing(fde) || !cp_cfi_read_code(fde->start, code, sizeof(code), copy))
		return CP_CFI_LOST;
	n = cp_cfi_pushed(code, sizeof(code), regs, PUSHES);
	/* From none to all of them are on the stack, the return address right above. */
	for (unsigned i = 0; n && i <= n; i++) {
		if (!cp_stackmem_read(&f->stack, sp + 8 * i, &ra))
			return CP_CFI_LOST;
		if (!cp_cfi_behind_call(ra, copy))
			continue;
		restore(f, regs, i, sp + 8 * i);
		f->regs.r[CP_REG_PC] = ra;
		f->regs.r[CP_REG_SP] = sp + 8 * (i + 1);
		f->known &=
			CP_CFI_CALLEE_SAVED | UINT64_C(1) << CP_REG_PC | UINT64_C(1) << CP_REG_SP;
		return CP_CFI_STEPPED;
	}
	return CP_CFI_LOST;
}
