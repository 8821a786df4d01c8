/* SPDX-License-Identifier: BSD-3-Clause */
/* aarch64: unwind rules small enough for the cache, and their application.
 *
 *   bits 0-1   base of the CFA, or "outermost"
 *   bits 2-14  CFA offset in words
 *   bits 15-27 frame record {x29, x30}: saved that many words below the CFA;
 *              0 = both are still in their registers
 *   bit 28     set
 *   bit 29     of the record, only x30 is saved; x29 is still in its register, as in code
 *              without frame pointers
 */
#ifndef CP_RULES_AARCH64_H
#define CP_RULES_AARCH64_H

#include "unwind/signal/unwind_signal.h"

#define CP_RULE_BITS 30
#define CP_RULE_MARK (1u << 28) /* set in every rule, so no rule is 0 */
#define CP_RULE_NO_FP (1u << 29)
#define CP_RULE_OFFSET_MAX ((1 << 13) - 1)

enum { CP_RULE_OUTERMOST, CP_RULE_SP, CP_RULE_FP };

/* The registers that rules read and write. lr is 0 when the frame's own lr is lost. */
struct cp_rule_frame {
	uint64_t pc, sp, fp, lr;
};
#define CP_RULE_KNOWN (UINT64_C(1) << CP_REG_PC | UINT64_C(1) << CP_REG_SP | 1u << CP_REG_FP)

static inline void cp_rule_load(struct cp_rule_frame *q, const struct cp_regs *regs, uint64_t known)
{
	q->pc = regs->r[CP_REG_PC];
	q->sp = regs->r[CP_REG_SP];
	q->fp = regs->r[CP_REG_FP];
	q->lr = known >> CP_CFI_LR & 1 ? regs->r[CP_CFI_LR] : 0;
}

static inline void cp_rule_store(const struct cp_rule_frame *q, struct cp_regs *regs)
{
	regs->r[CP_REG_PC] = q->pc;
	regs->r[CP_REG_SP] = q->sp;
	regs->r[CP_REG_FP] = q->fp;
	regs->r[CP_CFI_LR] = q->lr;
}

static inline bool cp_rule_is_same(const struct cp_rule_frame *a, const struct cp_rule_frame *b)
{
	return !((a->pc ^ b->pc) | (a->sp ^ b->sp) | (a->fp ^ b->fp) | (a->lr ^ b->lr));
}

/* Returns ROW as a rule, or 0 if ROW doesn't fit. */
static inline uint32_t cp_rule_of(const struct cp_cfi_row *row)
{
	uint32_t ra = row->rules[CP_CFI_RA], fp = row->rules[cp_cfi_column(CP_REG_FP)], base,
		 slot = 0, no_fp = CP_CFI_KIND(fp) == CP_CFI_UNSET ? CP_RULE_NO_FP : 0;

	if (CP_CFI_KIND(ra) == CP_CFI_UNDEFINED)
		return CP_RULE_MARK | CP_RULE_OUTERMOST;
	if (CP_CFI_KIND(row->cfa) != CP_CFI_REGISTER || row->cfa_offset % 8 ||
	    row->cfa_offset < 0 || row->cfa_offset > 8 * CP_RULE_OFFSET_MAX ||
	    CP_CFI_KIND(row->rules[cp_cfi_column(CP_REG_SP)]) != CP_CFI_UNSET)
		return 0;
	if (CP_CFI_KIND(ra) == CP_CFI_OFFSET && (no_fp || CP_CFI_KIND(fp) == CP_CFI_OFFSET)) {
		slot = (uint32_t)(-CP_CFI_VALUE(ra) / 8) + 1;
		if (CP_CFI_VALUE(ra) % 8 || CP_CFI_VALUE(ra) >= 0 || slot > CP_RULE_OFFSET_MAX ||
		    (!no_fp && CP_CFI_VALUE(fp) != CP_CFI_VALUE(ra) - 8))
			return 0;
		slot = slot << 15 | no_fp;
	} else if (CP_CFI_KIND(ra) != CP_CFI_UNSET || !no_fp) {
		return 0;
	}
	switch (CP_CFI_VALUE(row->cfa)) {
	case CP_REG_SP: base = CP_RULE_SP; break;
	case CP_REG_FP: base = CP_RULE_FP; break;
	default: return 0;
	}
	return CP_RULE_MARK | base | (uint32_t)row->cfa_offset / 8 << 2 | slot;
}

/* Returns the bit position in a function's state (rules_learn.c) of the 8 bits that say how many
 * words below the CFA REG is saved. 0 = not saved, CP_RULE_GONE = undefined. Registers that rules
 * don't follow share a lane that is never read. */
#define CP_RULE_GONE 0xffu
#define CP_RULE_LANE_FP 0
#define CP_RULE_LANE_RA 8
#define CP_RULE_LANE_SP 16
#define CP_RULE_LANE_NONE 24
#define CP_RULE_USUAL_LANES UINT64_C(0)

static inline unsigned cp_rule_lane(unsigned reg)
{
	return reg == CP_REG_FP	  ? CP_RULE_LANE_FP
	       : reg == CP_CFI_LR ? CP_RULE_LANE_RA
	       : reg == CP_REG_SP ? CP_RULE_LANE_SP
				  : CP_RULE_LANE_NONE;
}

/* Returns the rule for such a state, or 0 if it doesn't fit. */
static inline uint32_t cp_rule_of_slots(uint32_t reg, uint32_t offset, uint64_t slots)
{
	uint32_t fp = slots >> CP_RULE_LANE_FP & 0xff, ra = slots >> CP_RULE_LANE_RA & 0xff,
		 sp = slots >> CP_RULE_LANE_SP & 0xff;

	if (ra == CP_RULE_GONE)
		return CP_RULE_MARK | CP_RULE_OUTERMOST;
	if ((reg != CP_REG_SP && reg != CP_REG_FP) || offset % 8 ||
	    offset > 8 * CP_RULE_OFFSET_MAX || sp || fp > INT8_MAX || (fp && (!ra || ra != fp - 1)))
		return 0;
	return CP_RULE_MARK | (reg == CP_REG_SP ? CP_RULE_SP : CP_RULE_FP) | offset / 8 << 2 |
	       (ra ? (ra + 1) << 15 : 0) | (ra && !fp ? CP_RULE_NO_FP : 0);
}

static inline bool cp_rule_is_outermost(uint32_t rule)
{
	return (rule & 3) == CP_RULE_OUTERMOST;
}

/* Move Q to the caller. Returns false, with Q unchanged, if a word can't be read or the frame does
 * not move up. Only a leaf may have its caller at the same sp. */
static inline bool cp_rule_step(uint32_t rule, struct cp_rule_frame *q, struct cp_stackmem *stack)
{
	uint32_t slot = rule >> 15 & CP_RULE_OFFSET_MAX;
	uint64_t base = (rule & 3) == CP_RULE_SP ? q->sp : q->fp;
	uint64_t cfa = base + (rule >> 2 & CP_RULE_OFFSET_MAX) * 8, pc = q->lr, fp = q->fp;

	if (cfa < q->sp || (cfa == q->sp && !q->lr) || (!slot && !q->lr))
		return false;
	if (slot && !(rule & CP_RULE_NO_FP) && !cp_stackmem_read(stack, cfa - slot * 8, &fp))
		return false;
	if (slot && !cp_stackmem_read(stack, cfa - slot * 8 + 8, &pc))
		return false;
	*q = (struct cp_rule_frame){ .pc = cp_cfi_strip(pc), .sp = cfa, .fp = fp, .lr = 0 };
	return true;
}

/* See rules_x86_64.h. A frame without a slot is the leaf; a walk from there isn't kept. */
struct cp_rule_word {
	uint64_t at, value;
};
#define CP_RULE_WORDS 2u

enum { CP_RULE_NEEDS_FP = 1 };

static inline unsigned cp_rule_words(uint32_t rule, const struct cp_rule_frame *q,
				     const struct cp_rule_frame *next, unsigned *needed,
				     struct cp_rule_word *words)
{
	uint32_t slot = rule >> 15 & CP_RULE_OFFSET_MAX;
	bool by_fp = (rule & 3) == CP_RULE_FP, saves_fp = slot && !(rule & CP_RULE_NO_FP);
	uint64_t record = (by_fp ? q->fp : q->sp) + (rule >> 2 & CP_RULE_OFFSET_MAX) * 8 - slot * 8;
	unsigned n = 0;

	if (slot)
		words[n++] = (struct cp_rule_word){ record + 8, next->pc };
	if (saves_fp && *needed)
		words[n++] = (struct cp_rule_word){ record, next->fp };
	if (saves_fp)
		*needed = 0;
	if (by_fp)
		*needed = CP_RULE_NEEDS_FP;
	return n;
}

/* The word in memory may be a signed return address. */
CP_STACKMEM_RAW static inline bool cp_rule_word_take(struct cp_rule_word *w)
{
	uint64_t value = *(const cp_stackmem_word *)w->at;
	bool same = value == w->value || cp_cfi_strip(value) == w->value;

	w->value = value;
	return same;
}

static inline bool cp_rule_has_needed(const struct cp_rule_frame *q, const struct cp_regs *regs,
				      unsigned needed)
{
	return !needed || q->fp == regs->r[CP_REG_FP];
}

static inline bool cp_rule_has_needed_of(const struct cp_rule_frame *q, const struct cp_call *call,
					 unsigned needed)
{
	return !needed || q->fp == call->fp;
}

#endif
