/* Code without call frame information: crt code, assembly, generated code.
 *
 * A step is made only to an address right behind a call instruction, which a stray
 * word on the stack seldom is. See cfi.h.
 */
#include "sigsafe/cfi.h"

#include "sigsafe/sys.h"

#define LOWEST_CODE 4096

/* Code is read by the kernel when its module may go away, and otherwise after asking
 * whether it is there: copying is refused in some sandboxes. */
static bool read_code(uint64_t addr, void *to, size_t n, bool copy)
{
	if (addr < LOWEST_CODE || (addr + n) >> CP_CFI_PC_BITS)
		return false;
	if (copy)
		return cp_sys_peek(to, addr, n) == (long)n;
	if (!cp_stackmem_probe(addr) || !cp_stackmem_probe(addr + n - 1))
		return false;
	memcpy(to, (const void *)(uintptr_t)addr, n);
	return true;
}

bool cp_cfi_behind_call(uint64_t ra, bool copy)
{
	uint8_t code[CP_CFI_CALL_BYTES];

	return read_code(ra - sizeof(code), code, sizeof(code), copy) &&
	       cp_cfi_is_call(code + sizeof(code));
}

static bool at_sigreturn(uint64_t pc, bool copy)
{
	uint8_t code[CP_CFI_SIGRETURN_BYTES];

	return read_code(pc, code, sizeof(code), copy) && cp_cfi_is_sigreturn(code);
}

/* The registers that the kernel saved when it called a signal handler. */
static enum cp_cfi_result resume(struct cp_cfi_frame *f)
{
	struct cp_regs regs;

	for (unsigned reg = 0; reg < CP_REGS; reg++)
		if (!cp_stackmem_read(&f->stack, cp_cfi_sigframe_slot(f->regs.r[CP_REG_SP], reg),
				      &regs.r[reg]))
			return CP_CFI_LOST;
	f->regs = regs;
	f->known = CP_CFI_ALL_KNOWN;
	return CP_CFI_RESUMED;
}

static enum cp_cfi_result step_to(struct cp_cfi_frame *f, uint64_t ra, uint64_t sp)
{
	f->regs.r[CP_REG_PC] = ra;
	f->regs.r[CP_REG_SP] = sp;
	f->known &= CP_CFI_CALLEE_SAVED | UINT64_C(1) << CP_REG_PC | UINT64_C(1) << CP_REG_SP;
	return CP_CFI_STEPPED;
}

/* The return address as at a function's entry. */
static bool entry_ra(struct cp_cfi_frame *f, bool exact, bool copy, uint64_t *ra)
{
#if CP_CFI_CALL_PUSHES
	if (!cp_stackmem_read(&f->stack, f->regs.r[CP_REG_SP], ra))
		return false;
#else
	if (!exact)
		return false;
	*ra = cp_cfi_strip(f->regs.r[CP_CFI_LR]);
#endif
	return cp_cfi_behind_call(*ra, copy);
}

enum cp_cfi_result cp_cfi_guess(struct cp_cfi_frame *f, bool exact, bool copy)
{
	uint64_t sp = f->regs.r[CP_REG_SP], fp = f->regs.r[CP_REG_FP], next, ra;

	if (!exact && at_sigreturn(f->regs.r[CP_REG_PC], copy))
		return resume(f);
	if (entry_ra(f, exact, copy, &ra))
		return step_to(f, ra, sp + CP_CFI_CALL_PUSHES * sizeof(ra));
	if (!(f->known >> CP_REG_FP & 1))
		return CP_CFI_UNKNOWN;
	/* By the ABI the outermost frame has no frame pointer. */
	if (fp == 0 && !exact)
		return CP_CFI_OUTERMOST;
	if (fp < sp || fp % sizeof(fp) || !cp_stackmem_read(&f->stack, fp, &next) ||
	    !cp_stackmem_read(&f->stack, fp + sizeof(fp), &ra))
		return CP_CFI_LOST;
	ra = cp_cfi_strip(ra);
	if (!cp_cfi_behind_call(ra, copy))
		return CP_CFI_LOST;
	f->regs.r[CP_REG_FP] = next;
	return step_to(f, ra, fp + 2 * sizeof(fp));
}
