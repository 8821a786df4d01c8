/* SPDX-License-Identifier: BSD-3-Clause */
/* x86_64: unwind rules small enough for the cache, and their application.
 *
 *   bits 0-1   base of the CFA, or "outermost"
 *   bit 2      set
 *   bits 3-16  CFA offset in words; read in place, the offset in bytes
 *   bits 17-23 rbp, bits 24-30 rbx: saved that many words below the CFA; 1 = not saved
 *
 * The return address is right below the CFA. For a register that isn't saved, that word is read as
 * well and then dropped: this avoids jumps, which nothing predicts on a stack that was not walked
 * before. rbx is followed because the CFA of _dl_runtime_resolve counts from it. r12 to r15 hardly
 * ever matter, and a walk that needs one starts again without the cache.
 */
#ifndef CP_RULES_X86_64_H
#define CP_RULES_X86_64_H

#include "unwind/signal/unwind_signal.h"

#define CP_RULE_BITS 31
#define CP_RULE_MARK (1u << 2) /* set in every rule, so no rule is 0 */
#define CP_RULE_OFFSET_MAX ((1 << 14) - 1)
#define CP_RULE_SLOT_MAX ((1 << 7) - 1)
#define CP_RULE_FP_SHIFT 17
#define CP_RULE_BX_SHIFT 24
#define CP_RULE_NOT_SAVED 1u /* a slot */

enum { CP_RULE_OUTERMOST, CP_RULE_SP, CP_RULE_FP, CP_RULE_BX };

/* The registers that rules read and write. */
struct cp_rule_frame {
	uint64_t pc, sp, fp, bx;
};
#define CP_RULE_KNOWN (1u << CP_REG_PC | 1u << CP_REG_SP | 1u << CP_REG_FP | 1u << CP_CFI_RBX)

static inline void cp_rule_load(struct cp_rule_frame *q, const struct cp_regs *regs, uint64_t known)
{
	q->pc = regs->r[CP_REG_PC];
	q->sp = regs->r[CP_REG_SP];
	q->fp = regs->r[CP_REG_FP];
	q->bx = regs->r[CP_CFI_RBX];
}

static inline void cp_rule_store(const struct cp_rule_frame *q, struct cp_regs *regs)
{
	regs->r[CP_REG_PC] = q->pc;
	regs->r[CP_REG_SP] = q->sp;
	regs->r[CP_REG_FP] = q->fp;
	regs->r[CP_CFI_RBX] = q->bx;
}

static inline bool cp_rule_is_same(const struct cp_rule_frame *a, const struct cp_rule_frame *b)
{
	return !((a->pc ^ b->pc) | (a->sp ^ b->sp) | (a->fp ^ b->fp) | (a->bx ^ b->bx));
}

/* Returns how many words below the CFA a register is saved. Sets *FITS to false if RULE can't be
 * expressed as a simple rule. Conditions here and below are combined without jumps, because nothing
 * predicts jumps for new code. */
static inline uint32_t cp_rule_slot(uint32_t rule, bool *fits)
{
	bool kept = (CP_CFI_KIND(rule) == CP_CFI_UNSET) | (CP_CFI_KIND(rule) == CP_CFI_SAME);
	int32_t value = CP_CFI_VALUE(rule);

	*fits &= kept | ((CP_CFI_KIND(rule) == CP_CFI_OFFSET) & (value % 8 == 0) & (value <= -16) &
			 (value >= -8 * CP_RULE_SLOT_MAX));
	return kept ? CP_RULE_NOT_SAVED : (uint32_t)-value / 8;
}

/* Returns ROW as a rule, or 0 if ROW doesn't fit. */
static inline uint32_t cp_rule_of(const struct cp_cfi_row *row)
{
	uint32_t ra = row->rules[CP_CFI_RA], reg = (uint32_t)CP_CFI_VALUE(row->cfa), base, fp, bx;
	bool fits;

	if (CP_CFI_KIND(ra) == CP_CFI_UNDEFINED)
		return CP_RULE_MARK | CP_RULE_OUTERMOST;
	base = reg == CP_REG_SP	   ? CP_RULE_SP
	       : reg == CP_REG_FP  ? CP_RULE_FP
	       : reg == CP_CFI_RBX ? CP_RULE_BX
				   : CP_RULE_OUTERMOST;
	fits = (CP_CFI_KIND(row->cfa) == CP_CFI_REGISTER) & (base != CP_RULE_OUTERMOST) &
	       (row->cfa_offset % 8 == 0) & (row->cfa_offset > 0) &
	       (row->cfa_offset <= 8 * CP_RULE_OFFSET_MAX) & (CP_CFI_KIND(ra) == CP_CFI_OFFSET) &
	       (CP_CFI_VALUE(ra) == -8) &
	       (CP_CFI_KIND(row->rules[cp_cfi_column(CP_REG_SP)]) == CP_CFI_UNSET);
	fp = cp_rule_slot(row->rules[cp_cfi_column(CP_REG_FP)], &fits);
	bx = cp_rule_slot(row->rules[cp_cfi_column(CP_CFI_RBX)], &fits);
	if (!fits)
		return 0;
	return CP_RULE_MARK | base | (uint32_t)row->cfa_offset | fp << CP_RULE_FP_SHIFT |
	       bx << CP_RULE_BX_SHIFT;
}

/* Returns the bit position in a function's state (rules_learn.c) of the 8 bits that say how many
 * words below the CFA REG is saved. 0 = not saved, CP_RULE_GONE = undefined. Registers that rules
 * don't follow share a lane that is never read. */
#define CP_RULE_GONE 0xffu
#define CP_RULE_LANE_FP 0
#define CP_RULE_LANE_BX 8
#define CP_RULE_LANE_SP 16
#define CP_RULE_LANE_RA 24
#define CP_RULE_LANE_NONE 32
#define CP_RULE_USUAL_LANES (UINT64_C(1) << CP_RULE_LANE_RA)

static inline unsigned cp_rule_lane(unsigned reg)
{
	/* One hexadecimal digit per register. */
	const uint64_t lanes = UINT64_C(0x4444444420441444);

	if (__builtin_expect(reg >= 16, 0))
		return reg == CP_REG_PC ? CP_RULE_LANE_RA : CP_RULE_LANE_NONE;
	return (lanes >> 4 * reg & 7) * 8;
}

/* Returns the rule for such a state, or 0 if it doesn't fit. */
static inline uint32_t cp_rule_of_slots(uint32_t reg, uint32_t offset, uint64_t slots)
{
	uint32_t fp = slots >> CP_RULE_LANE_FP & 0xff, bx = slots >> CP_RULE_LANE_BX & 0xff,
		 sp_ra = slots >> CP_RULE_LANE_SP & 0xffff, base;
	/* One hexadecimal digit per register. */
	const uint32_t bases = CP_RULE_SP << 4 * CP_REG_SP | CP_RULE_FP << 4 * CP_REG_FP |
			       CP_RULE_BX << 4 * CP_CFI_RBX;
	bool fits;

	if (__builtin_expect(sp_ra >> 8 == CP_RULE_GONE, 0))
		return CP_RULE_MARK | CP_RULE_OUTERMOST;
	base = reg < 8 ? bases >> 4 * reg & 3 : CP_RULE_OUTERMOST;
	fits = (base != CP_RULE_OUTERMOST) & (offset % 8 == 0) & (offset > 0) &
	       (offset <= 8 * CP_RULE_OFFSET_MAX) & (sp_ra == 1 << 8) & (fp != 1) &
	       (fp <= CP_RULE_SLOT_MAX) & (bx != 1) & (bx <= CP_RULE_SLOT_MAX);
	fp = fp ? fp : CP_RULE_NOT_SAVED;
	bx = bx ? bx : CP_RULE_NOT_SAVED;
	return fits ? CP_RULE_MARK | base | offset | fp << CP_RULE_FP_SHIFT | bx << CP_RULE_BX_SHIFT
		    : 0;
}

static inline bool cp_rule_is_outermost(uint32_t rule)
{
	return (rule & 3) == CP_RULE_OUTERMOST;
}

/* Return the value that RULE's CFA counts from, its offset, and a register's distance below the
 * CFA, all in bytes. */
static inline uint64_t cp_rule_base(uint32_t rule, const struct cp_rule_frame *q)
{
	uint32_t kind = rule & 3;

	return kind == CP_RULE_SP ? q->sp : kind == CP_RULE_FP ? q->fp : q->bx;
}

static inline uint64_t cp_rule_offset(uint32_t rule)
{
	return rule & CP_RULE_OFFSET_MAX << 3;
}

static inline uint64_t cp_rule_below(uint32_t rule, unsigned shift)
{
	return rule >> (shift - 3) & CP_RULE_SLOT_MAX << 3;
}

static inline bool cp_rule_saves(uint32_t rule, unsigned shift)
{
	return cp_rule_below(rule, shift) != CP_RULE_NOT_SAVED << 3;
}

/* Read the words that RULE needs from a stack that isn't directly readable. */
bool cp_rules_read_elsewhere(uint32_t rule, uint64_t cfa, struct cp_rule_frame *q,
			     struct cp_stackmem *stack);

/* Move Q to the caller. Returns false, with Q unchanged, if a word can't be read or the frame does
 * not move up. */
static inline bool cp_rule_step(uint32_t rule, struct cp_rule_frame *q, struct cp_stackmem *stack)
{
	uint64_t cfa = cp_rule_base(rule, q) + cp_rule_offset(rule);
	uint64_t fp_at = cfa - cp_rule_below(rule, CP_RULE_FP_SHIFT);
	uint64_t bx_at = cfa - cp_rule_below(rule, CP_RULE_BX_SHIFT);
	struct cp_rule_frame next = { .sp = cfa };

	if (cfa <= q->sp)
		return false;
	if (cp_stackmem_is_direct(stack, cfa - 8) && cp_stackmem_is_direct(stack, fp_at) &&
	    cp_stackmem_is_direct(stack, bx_at)) {
		next.pc = cp_stackmem_read_direct(cfa - 8);
		next.fp = cp_stackmem_read_direct(fp_at);
		next.bx = cp_stackmem_read_direct(bx_at);
	} else {
		struct cp_rule_frame read;

		if (!cp_rules_read_elsewhere(rule, cfa, &read, stack))
			return false;
		next = read;
	}
	next.fp = cp_rule_saves(rule, CP_RULE_FP_SHIFT) ? next.fp : q->fp;
	next.bx = cp_rule_saves(rule, CP_RULE_BX_SHIFT) ? next.bx : q->bx;
	*q = next;
	return true;
}

/* A stack word: its address and its value. */
struct cp_rule_word {
	uint64_t at, value;
};
#define CP_RULE_WORDS 3u

enum { CP_RULE_NEEDS_FP = 1, CP_RULE_NEEDS_BX = 2 };

/* Store the words by which RULE leads from Q to NEXT to WORDS, at most CP_RULE_WORDS; only words
 * that later frames depend on. *NEEDED: on entry the registers of NEXT that later frames depend on;
 * on return those of Q. Returns the number of words; 0: unknown. */
static inline unsigned cp_rule_words(uint32_t rule, const struct cp_rule_frame *q,
				     const struct cp_rule_frame *next, unsigned *needed,
				     struct cp_rule_word *words)
{
	uint64_t cfa = cp_rule_base(rule, q) + cp_rule_offset(rule);
	uint32_t kind = rule & 3, saves = 0;
	unsigned n = 0;

	saves |= cp_rule_saves(rule, CP_RULE_FP_SHIFT) ? CP_RULE_NEEDS_FP : 0;
	saves |= cp_rule_saves(rule, CP_RULE_BX_SHIFT) ? CP_RULE_NEEDS_BX : 0;
	words[n++] = (struct cp_rule_word){ cfa - 8, next->pc };
	if (saves & *needed & CP_RULE_NEEDS_FP)
		words[n++] = (struct cp_rule_word){ cfa - cp_rule_below(rule, CP_RULE_FP_SHIFT),
						    next->fp };
	if (saves & *needed & CP_RULE_NEEDS_BX)
		words[n++] = (struct cp_rule_word){ cfa - cp_rule_below(rule, CP_RULE_BX_SHIFT),
						    next->bx };
	*needed &= ~saves;
	*needed |= kind == CP_RULE_FP	? CP_RULE_NEEDS_FP
		   : kind == CP_RULE_BX ? CP_RULE_NEEDS_BX
					: 0;
	return n;
}

/* Take W's value from the stack, which must be readable there. Returns false if it isn't the one
 * that cp_rule_words gave. There is nothing to do here: both are the same. */
static inline bool cp_rule_word_take(struct cp_rule_word *w)
{
	return true;
}

/* Have the NEEDED registers the same values in REGS as in Q? */
static inline bool cp_rule_has_needed(const struct cp_rule_frame *q, const struct cp_regs *regs,
				      unsigned needed)
{
	return (!(needed & CP_RULE_NEEDS_FP) || q->fp == regs->r[CP_REG_FP]) &&
	       (!(needed & CP_RULE_NEEDS_BX) || q->bx == regs->r[CP_CFI_RBX]);
}

/* The same for a call, of which fewer registers are known. */
static inline bool cp_rule_has_needed_of(const struct cp_rule_frame *q, const struct cp_call *call,
					 unsigned needed)
{
	return !needed || (needed == CP_RULE_NEEDS_FP && q->fp == call->fp);
}

#endif
