/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps through code without call frame information: crt code, assembly, generated code.
 *
 * A step leads only to an address right after a call instruction. If that call names its target,
 * the target must be code without an FDE as well. This excludes return addresses that earlier calls
 * left on the stack. See unwind_signal.h.
 */
#include "unwind/signal/unwind_signal.h"

#define STACK_NEAR (UINT64_C(1) << 20)
#define SCANNED 16 /* words above sp that are searched for a return address */
#define ABOVE 64   /* number of words above sp; if none is a return address, there is no caller */
/* Generated code of one runtime lies within this distance. */
#define CODE_NEAR (UINT64_C(256) << 20)

/* Is F at a trampoline? A thread that was interrupted there may also be at the second instruction,
 * the system call. */
static bool at_trampoline(const struct cp_cfi_frame *f, bool exact, bool copy)
{
	uint64_t pc = f->regs.r[CP_REG_PC];

	return cp_cfi_code_at_sigreturn(pc, copy) ||
	       (exact && cp_cfi_code_at_sigreturn(pc - CP_CFI_SIGRETURN_CALL, copy));
}

enum cp_cfi_result cp_cfi_guess_resume(struct cp_cfi_frame *f, bool exact, bool copy)
{
	struct cp_regs regs;

	if (!(f->known >> CP_REG_SP & 1) || !at_trampoline(f, exact, copy))
		return CP_CFI_LOST;
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

static __attribute__((noinline)) bool has_copied_fde(uint64_t pc, const struct cp_cfi_module *m)
{
	struct cp_cfi_fde fde;
	struct cp_cfi_copy room;

	return cp_cfi_table_find(m, pc, &room, &fde);
}

static __attribute__((noinline)) bool has_fde(uint64_t pc, const struct cp_cfi_module *m)
{
	struct cp_cfi_fde fde;

	return cp_cfi_table_find(m, pc, NULL, &fde);
}

enum belief { STALE, POSSIBLE, SURE };

bool cp_cfi_guess_is_generated(const struct cp_cfi_frame *f, uint64_t ra, bool copy)
{
	return ra - f->regs.r[CP_REG_SP] + STACK_NEAR >= 2 * STACK_NEAR &&
	       cp_cfi_code_behind_call(ra, copy);
}

/* Can RA, found in F, be a return address? It must be right after a call, in a module. It may be in
 * no module only if F's code is in none, either. */
static bool is_return(const struct cp_cfi_frame *f, uint64_t ra, bool copy)
{
	struct cp_cfi_module m;

	if (cp_cfi_module_find(ra, &m))
		return cp_cfi_code_behind_call(ra, copy);
	return !cp_cfi_module_find(f->regs.r[CP_REG_PC], &m) &&
	       cp_cfi_guess_is_generated(f, ra, copy);
}

static bool holds(const struct cp_cfi_module *m, uint64_t pc)
{
	return pc - m->start < m->end - m->start;
}

/* Is PC, without an FDE, the rest of the function at TO, whose FDE ends too early? glibc's clone
 * and clone3 are like that from the system call on. */
static bool continues(const struct cp_cfi_module *m, uint64_t to, uint64_t pc, bool copy)
{
	return pc > to && holds(m, pc) &&
	       cp_cfi_table_start_before(m, pc, copy) == cp_cfi_table_start_before(m, to, copy);
}

/* Did the call before RA lead to the code of F, which has no FDE? If the call's target has an FDE,
 * F's code isn't the target: an earlier call left the word on the stack. But an interposed function
 * of the profiler jumps on to libc's. */
static enum belief believe(const struct cp_cfi_frame *f, uint64_t ra, bool copy)
{
	uint64_t pc = f->regs.r[CP_REG_PC], to;
	struct cp_cfi_module m;

	if (!is_return(f, ra, copy))
		return STALE;
	to = cp_cfi_code_called(ra, copy);
	if (!to || !cp_cfi_module_find(to, &m))
		return POSSIBLE;
	if (holds(&m, (uint64_t)(uintptr_t)cp_cfi_guess) && !holds(&m, pc))
		return POSSIBLE;
	/* The stub of a PLT, which some linkers don't describe. */
	if (cp_cfi_code_behind_jumps(pc, copy) == to)
		return SURE;
	if (copy ? has_copied_fde(to, &m) : has_fde(to, &m))
		return continues(&m, to, pc, copy) ? POSSIBLE : STALE;
	return holds(&m, pc) ? SURE : POSSIBLE;
}

/* Is V the frame pointer of a frame above ABOVE? */
static bool is_record(struct cp_cfi_frame *f, uint64_t v, uint64_t above, bool copy)
{
	struct cp_cfi_module m;
	uint64_t ra;

	return v >= above && v % sizeof(v) == 0 &&
	       cp_stackmem_read(&f->stack, v + sizeof(v), &ra) &&
	       (is_return(f, cp_cfi_strip(ra), copy) ||
		(!cp_cfi_module_find(cp_cfi_strip(ra), &m) &&
		 cp_cfi_guess_is_generated(f, cp_cfi_strip(ra), copy)));
}

/* Find the frame pointer of the caller whose return address is at SLOT: it is still in its
 * register, or among the words between sp and SLOT, the first pushed first. */
static void find_frame_pointer(struct cp_cfi_frame *f, uint64_t slot, bool copy)
{
	uint64_t v = f->regs.r[CP_REG_FP], at = slot;
	bool found = f->known >> CP_REG_FP & 1 && is_record(f, v, slot, copy);

	while (!found && at > f->regs.r[CP_REG_SP]) {
		at -= sizeof(v);
		found = cp_stackmem_read(&f->stack, at, &v) && is_record(f, v, slot, copy);
	}
	f->known &= ~(UINT64_C(1) << CP_REG_FP);
	if (found) {
		f->regs.r[CP_REG_FP] = v;
		f->known |= UINT64_C(1) << CP_REG_FP;
	}
}

/* For code that pushed or reserved a little: take the first return address above sp, if it is
 * certain. Of the saved registers, only the frame pointer is searched for. */
static enum cp_cfi_result scan(struct cp_cfi_frame *f, bool copy)
{
	uint64_t slot = f->regs.r[CP_REG_SP], ra;
	struct cp_cfi_module m;

	if (!cp_cfi_module_find(f->regs.r[CP_REG_PC], &m))
		return CP_CFI_LOST;
	for (unsigned i = 0; i < SCANNED; i++, slot += sizeof(ra)) {
		if (!cp_stackmem_read(&f->stack, slot, &ra))
			break;
		if (!cp_cfi_module_find(ra, &m) || believe(f, ra, copy) != SURE ||
		    !cp_cfi_forward_reaches(cp_cfi_code_called(ra, copy), f->regs.r[CP_REG_PC],
					    copy))
			continue;
		find_frame_pointer(f, slot, copy);
		step_to(f, ra, slot + sizeof(ra));
		f->known &= 1u << CP_REG_FP | UINT64_C(1) << CP_REG_PC | UINT64_C(1) << CP_REG_SP;
		return CP_CFI_STEPPED;
	}
	return CP_CFI_LOST;
}

#if CP_CFI_CALL_PUSHES
/* Returns how many bytes of registers the instructions right before the pc, at the end of the N
 * bytes of CODE, have pushed, if the registers still have these values: then the frame pointer is
 * still the caller's. A return address among these words was popped before. */
static inline unsigned saved_registers(struct cp_cfi_frame *f, const uint8_t *code, unsigned n,
				       bool copy)
{
	unsigned size = 0;
	uint64_t word;

	while (n-- > 0) {
		unsigned reg = cp_cfi_push(code[n]);

		if (reg >= CP_REGS || !(f->known >> reg & 1) ||
		    !cp_stackmem_read(&f->stack, f->regs.r[CP_REG_SP] + size, &word) ||
		    word != f->regs.r[reg] ||
		    (reg != CP_REG_FP && cp_cfi_code_behind_call(word, copy)))
			break;
		size += sizeof(word);
	}
	return size;
}
#endif

/* Can F return to RA, if its caller's sp is SP? */
static bool can_return(struct cp_cfi_frame *f, bool exact, bool copy, uint64_t sp, uint64_t ra)
{
	struct cp_cfi_module m;

	if (believe(f, ra, copy) != STALE)
		return true;
	/* Undescribed code of a module, called by generated code: the caller's frame pointer is
	 * still in its register, and confirms the call. */
	return exact && !cp_cfi_module_find(ra, &m) && cp_cfi_guess_is_generated(f, ra, copy) &&
	       f->known >> CP_REG_FP & 1 && is_record(f, f->regs.r[CP_REG_FP], sp, copy);
}

/* Find the return address as at a function's entry, or after its first pushes. Moves *SP to the
 * caller's. */
static bool entry_ra(struct cp_cfi_frame *f, bool exact, bool copy, uint64_t *sp, uint64_t *ra)
{
#if CP_CFI_CALL_PUSHES
	uint8_t before[CP_CFI_RESERVE_BYTES];

	*sp = f->regs.r[CP_REG_SP];
	if (cp_cfi_code_read(f->regs.r[CP_REG_PC] - sizeof(before), before, sizeof(before), copy)) {
		if (cp_cfi_aligned(before + sizeof(before)))
			return false;
		*sp += cp_cfi_reserved(before + sizeof(before));
		*sp += saved_registers(f, before, sizeof(before), copy);
	}
	if (!cp_stackmem_read(&f->stack, *sp, ra))
		return false;
	*sp += sizeof(*ra);
#else
	uint8_t code[CP_CFI_STUB_BEFORE + CP_CFI_STUB_BYTES];
	int lowered = -1;

	if (!exact)
		return false;
	if (cp_cfi_code_read(f->regs.r[CP_REG_PC] - CP_CFI_STUB_BEFORE, code, sizeof(code), copy))
		lowered = cp_cfi_stub_lowers(code + CP_CFI_STUB_BEFORE);
	*sp = f->regs.r[CP_REG_SP] + (lowered > 0 ? (uint64_t)lowered : 0);
	*ra = cp_cfi_strip(f->regs.r[CP_CFI_LR]);
	/* The call names the stub's target, or the function that jumped to the stub. */
	if (lowered >= 0)
		return is_return(f, *ra, copy);
#endif
	return can_return(f, exact, copy, *sp, *ra);
}

/* Step to where the code itself will return. LEAF: only if it calls nothing before, which is beyond
 * doubt. Not for generated code, which may vanish. */
static __attribute__((noinline)) enum cp_cfi_result by_its_return(struct cp_cfi_frame *f,
								  bool exact, bool leaf, bool copy)
{
	struct cp_cfi_forward to = { .leaf = leaf };
	struct cp_cfi_module m;

	if (!cp_cfi_module_find(f->regs.r[CP_REG_PC], &m) || !cp_cfi_forward_reads_on(f, copy, &to))
		return CP_CFI_LOST;
	/* The target that the call names may have jumped here, so a leaf isn't checked against the
	 * target: its word can't be an old one. */
	if (!(leaf && is_return(f, to.ra, copy)) && !can_return(f, exact, copy, to.sp, to.ra))
		return CP_CFI_LOST;
	step_to(f, to.ra, to.sp);
	cp_cfi_forward_take_restored(f, &to);
	if (leaf)
		f->read_to = to.ra;
	return CP_CFI_STEPPED;
}

static bool is_near(uint64_t a, uint64_t b)
{
	return a - b + CODE_NEAR < 2 * CODE_NEAR;
}

/* An interpreter made at run time (Java's) jumps to the code that it calls, with a return address
 * that it made itself, so there is no call before the address. Such an address is accepted only
 * between pieces of such code, and only if the record above confirms the frame pointer. */
static bool is_jumped_from(struct cp_cfi_frame *f, uint64_t fp, uint64_t next, uint64_t ra,
			   bool copy)
{
	uint64_t pc = f->regs.r[CP_REG_PC], above;
	struct cp_cfi_module m;

	if (!is_near(ra, pc) || cp_cfi_module_find(pc, &m) || next <= fp || next % sizeof(next) ||
	    !cp_stackmem_read(&f->stack, next + sizeof(next), &above) ||
	    !cp_cfi_code_is_there(ra, copy))
		return false;
	above = cp_cfi_strip(above);
	if (!is_near(above, pc) && !is_return(f, above, copy))
		return false;
	f->jumped_from = ra;
	return true;
}

/* Is there a return address among the words above sp, on the thread's own stack? If not, this is
 * the outermost frame. */
static bool has_callers(struct cp_cfi_frame *f, bool copy)
{
	uint64_t at = f->regs.r[CP_REG_SP], end = at + ABOVE * sizeof(at), word;

	for (; at < end && cp_stackmem_is_direct(&f->stack, at); at += sizeof(word))
		if (cp_stackmem_read(&f->stack, at, &word) &&
		    is_return(f, cp_cfi_strip(word), copy))
			return true;
	return false;
}

/* Step by the frame record at the frame pointer. Code that has made a call has set its frame up, if
 * it keeps one, so the record is its own. FIRST: the record is tried before the words on the stack,
 * and must be beyond doubt. A caller outside of every module must be generated code. */
static enum cp_cfi_result by_frame_pointer(struct cp_cfi_frame *f, bool exact, bool first,
					   bool copy)
{
	uint64_t fp = f->regs.r[CP_REG_FP], next, ra;
	struct cp_cfi_module m;
	bool found;

	if (!(f->known >> CP_REG_FP & 1))
		return CP_CFI_UNKNOWN;
	/* By the ABI the outermost frame has a frame pointer of 0; so does Go code at the start of
	 * a stack. Hand-written code that called a leaf may keep another 0 there. */
	if (fp == 0 && !exact)
		return f->read_to == f->regs.r[CP_REG_PC] && has_callers(f, copy)
			       ? CP_CFI_LOST
			       : CP_CFI_OUTERMOST;
	if (fp < f->regs.r[CP_REG_SP] || fp % sizeof(fp) ||
	    !cp_stackmem_read(&f->stack, fp, &next) ||
	    !cp_stackmem_read(&f->stack, fp + sizeof(fp), &ra))
		return CP_CFI_LOST;
	ra = cp_cfi_strip(ra);
	if (first && next && next <= fp)
		return CP_CFI_LOST;
	if (!cp_cfi_module_find(ra, &m))
		found = cp_cfi_guess_is_generated(f, ra, copy) ||
			is_jumped_from(f, fp, next, ra, copy);
	else
		found = first ? believe(f, ra, copy) != STALE : cp_cfi_code_behind_call(ra, copy);
	if (!found)
		return CP_CFI_LOST;
	f->regs.r[CP_REG_FP] = next;
	step_to(f, ra, fp + 2 * sizeof(fp));
	/* Where calls don't push, the record may be anywhere in the frame: the caller's sp is
	 * somewhere above. */
	if (!CP_CFI_CALL_PUSHES)
		f->known &= ~(UINT64_C(1) << CP_REG_SP);
	return CP_CFI_STEPPED;
}

/* Has F, which calls nothing, set up a frame, so that its caller's sp isn't F's? */
static bool is_leaf_with_record(struct cp_cfi_frame *f)
{
#if CP_CFI_CALL_PUSHES
	return false;
#else
	uint64_t fp = f->regs.r[CP_REG_FP], ra;

	return fp >= f->regs.r[CP_REG_SP] && fp % sizeof(fp) == 0 &&
	       cp_stackmem_read(&f->stack, fp + sizeof(fp), &ra) &&
	       cp_cfi_strip(ra) == cp_cfi_strip(f->regs.r[CP_CFI_LR]);
#endif
}

/* Is this the function of libc that calls main, or a thread's first function? musl's have no unwind
 * tables. */
static bool calls_first(const struct cp_cfi_frame *f, bool copy)
{
	uint64_t pc = f->regs.r[CP_REG_PC];
	uint8_t code[CP_CFI_PASSES_ON_BYTES];

	return holds(&cp_cfi_finder.lasting[1], pc) &&
	       cp_cfi_code_read(pc, code, sizeof(code), copy) &&
	       cp_cfi_passes_on(code, !cp_cfi_code_called(pc, copy));
}

enum cp_cfi_result cp_cfi_guess(struct cp_cfi_frame *f, bool exact, bool copy)
{
	uint64_t sp, ra;

	if (!exact && calls_first(f, copy))
		return CP_CFI_OUTERMOST;
	if ((!exact || is_leaf_with_record(f)) &&
	    by_frame_pointer(f, exact, true, copy) == CP_CFI_STEPPED)
		return CP_CFI_STEPPED;
	if (exact && cp_cfi_epilogue_is_leaving(f, copy, &ra, &sp) &&
	    can_return(f, exact, copy, sp, ra))
		return step_to(f, ra, sp);
	if (exact && by_its_return(f, true, true, copy) == CP_CFI_STEPPED)
		return CP_CFI_STEPPED;
	if (entry_ra(f, exact, copy, &sp, &ra))
		return step_to(f, ra, sp);
	if (scan(f, copy) == CP_CFI_STEPPED ||
	    by_its_return(f, exact, false, copy) == CP_CFI_STEPPED)
		return CP_CFI_STEPPED;
	return by_frame_pointer(f, exact, false, copy);
}
