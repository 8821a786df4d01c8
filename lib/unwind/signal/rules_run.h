/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the call frame instructions that most functions have, up to a pc; for rules_learn.c only.
 *
 * Only well-known instructions are run. Everything else is UNKNOWN and left to the row (cfi_row.c).
 * Inline, and with as few jumps as possible: jumps are most of the cost of new code, because the
 * CPU can't predict them yet.
 */
#ifndef CP_RULES_RUN_H
#define CP_RULES_RUN_H

#include "unwind/signal/rules.h"

#define CP_RULES_RARELY(condition) __builtin_expect(condition, 0)

#define CP_RULES_NESTED 2
#define CP_RULES_OPERAND_MAX 0x7f /* largest operand of one byte */

/* Where the registers are, as far as rules can express it. */
struct cp_rules_state {
	uint64_t slots;	      /* see cp_rule_lane */
	uint32_t reg, offset; /* base and offset of the CFA */
};

/* The instructions of a function. */
struct cp_rules_program {
	const uint8_t *p, *end; /* at least 8 bytes are readable before END */
	uint64_t start, pc;	/* PC is an offset from START */
	bool outermost;		/* by the CIE: no function called this code */
};

/* Returns the 8 bytes from P on, with 0 after the end. */
static inline uint64_t read_window(const uint8_t *p, const uint8_t *end)
{
	int64_t back = 8 - (end - p);
	unsigned half; /* in bits; two half shifts, because a shift by 64 at once would be undefined
			*/
	uint64_t w;

	back &= ~(back >> 63); /* no jump, because nothing predicts it */
	half = 4 * (unsigned)back;
	memcpy(&w, p - back, sizeof(w));
	return w >> half >> half;
}

static inline void save(struct cp_rules_state *s, unsigned reg, uint64_t slot)
{
	unsigned lane = cp_rule_lane(reg);

	s->slots = (s->slots & ~(UINT64_C(0xff) << lane)) | slot << lane;
}

/* Restore REG to the CIE's rule. */
static inline void restore_rule(struct cp_rules_state *s, unsigned reg)
{
	uint64_t lane = UINT64_C(0xff) << cp_rule_lane(reg);

	s->slots = (s->slots & ~lane) | (CP_RULE_USUAL_LANES & lane);
}

/* Read a number of one or two bytes at the start of W into *N. Returns its size, or 0 if it is
 * longer. */
static inline unsigned read_number(uint64_t w, uint32_t *n)
{
	*n = w & 0x7f;
	if (!(w & 0x80))
		return 1;
	*n |= (uint32_t)(w >> 1) & 0x3f80;
	return w & 0x8000 ? 0 : 2;
}

/* Run def_cfa or def_cfa_register. Returns the size, or 0 if it is unknown. */
static inline unsigned define_cfa(struct cp_rules_state *s, uint64_t w)
{
	unsigned n;

	s->reg = w >> 8 & 0xff;
	if (s->reg >= CP_REGS)
		return 0;
	if ((w & 0xff) == 0x0d)
		return 2;
	n = read_number(w >> 16, &s->offset);
	return n ? 2 + n : 0;
}

/* Run a rarer instruction. Returns its size, or 0 if it is unknown. */
static __attribute__((noinline)) unsigned run_rare(struct cp_rules_state *s, uint64_t w)
{
	uint8_t op = (uint8_t)w, operand = (uint8_t)(w >> 8);
	uint32_t n;

	if (op == 0x0c || op == 0x0d)
		return define_cfa(s, w);
	if (op >> 6 == 3) {
		restore_rule(s, op & 0x3f);
		return 1;
	}
	if (op == 0x07 && operand <= CP_RULES_OPERAND_MAX) { /* undefined */
		save(s, operand, CP_RULE_GONE);
		return 2;
	}
	if (op == 0x2e && read_number(w >> 8, &n)) /* GNU_args_size */
		return 1 + read_number(w >> 8, &n);
	return op == 0x2c || op == 0x2d; /* signed return addresses (aarch64) */
}

/* Run advance_loc1, 2 or 4. Returns the size. */
static inline unsigned read_advance(uint64_t w, uint64_t *at)
{
	unsigned n = 1u << ((w & 0xff) - 0x02);

	*at += (w >> 8 & ((UINT64_C(1) << 8 * n) - 1)) * CP_CFI_USUAL_CODE_ALIGN;
	return 1 + n;
}

/* Run an offset instruction with a one-byte operand. Returns its size, or 0 if it has another form.
 */
static inline unsigned run_offset(struct cp_rules_state *s, uint64_t w)
{
	if (CP_RULES_RARELY(w & 0x8000 || !(w & 0x7f00)))
		return 0;
	save(s, w & 0x3f, w >> 8 & CP_RULES_OPERAND_MAX);
	return 2;
}

/* The sequences advance_loc, def_cfa_offset, offset (push) and advance_loc, def_cfa_offset (pop),
 * with one-byte operands. */
#define CP_RULES_PUSH_MASK UINT64_C(0x80c080ffc0)
#define CP_RULES_PUSH UINT64_C(0x0080000e40)
#define CP_RULES_POP_MASK 0x80ffc0u
#define CP_RULES_POP 0x000e40u

/* Run the instructions that follow W's advance_loc: mostly a push or a pop. Returns the size of all
 * of them, or 0 if the form is unknown. */
static inline unsigned run_move(struct cp_rules_state *s, uint64_t w)
{
	if ((w & CP_RULES_PUSH_MASK) == CP_RULES_PUSH) {
		s->offset = w >> 16 & 0xff;
		return run_offset(s, w >> 24) ? 5 : 0;
	}
	if ((w & CP_RULES_POP_MASK) != CP_RULES_POP)
		return 1;
	s->offset = w >> 16 & 0xff;
	return 3;
}

/* Skip the instructions of an early epilogue in the middle of a function, in which only the CFA
 * moves. P is after its remember_state. Returns the position after its restore_state, or NULL if
 * the code has another form or contains PC. */
static inline const uint8_t *skip_end(const uint8_t *p, const uint8_t *end, uint64_t *at,
				      uint64_t pc)
{
	uint64_t w = read_window(p, end), now = *at;

	if ((w & 0x80ff) == 0x0e) {
		p += 2;
		w = read_window(p, end);
	}
	while ((w & CP_RULES_POP_MASK) == CP_RULES_POP) {
		now += (w & 0x3f) * CP_CFI_USUAL_CODE_ALIGN;
		p += 3;
		w = read_window(p, end);
	}
	now += (w & 0x3f) * CP_CFI_USUAL_CODE_ALIGN;
	if (CP_RULES_RARELY((w & 0xffc0) != 0x0b40 || now > pc))
		return NULL;
	*at = now;
	return p + 2;
}

enum cp_rules_where { CP_RULES_UNKNOWN, CP_RULES_BEFORE_LAST, CP_RULES_IN_LAST }; /* rows */

/* Run from TO on until the location has passed the pc, or to the end. Returns UNKNOWN if the row is
 * needed. */
static inline enum cp_rules_where cp_rules_run(const struct cp_rules_program *g,
					       struct cp_rules_state *to)
{
	const uint8_t *p = g->p, *const end = g->end;
	struct cp_rules_state s = *to, kept[CP_RULES_NESTED];
	unsigned depth = 0, n;
	uint64_t at = 0;

	for (;;) {
		uint64_t w = read_window(p, end);
		uint8_t op = (uint8_t)w;

		if (op >> 6 == 1) { /* advance_loc */
			at += (op & 0x3f) * CP_CFI_USUAL_CODE_ALIGN;
			if (CP_RULES_RARELY(at > g->pc))
				break;
			n = run_move(&s, w);
		} else if (op >> 6 == 2) {
			n = run_offset(&s, w);
		} else if (op == 0x0e) { /* def_cfa_offset */
			n = read_number(w >> 8, &s.offset);
			n += n != 0;
		} else if (op == 0x0a) { /* remember_state */
			const uint8_t *behind = skip_end(p + 1, end, &at, g->pc);

			if (CP_RULES_RARELY(depth == CP_RULES_NESTED))
				return CP_RULES_UNKNOWN;
			n = behind ? (unsigned)(behind - p) : 1;
			if (CP_RULES_RARELY(!behind))
				kept[depth++] = s;
		} else if (op == 0x0b) { /* restore_state */
			if (CP_RULES_RARELY(!depth))
				return CP_RULES_UNKNOWN;
			s = kept[--depth];
			n = 1;
		} else if (op == 0x00) {
			if (p >= end)
				break;
			n = 1;
		} else if (op - 0x02u <= 2) {
			n = read_advance(w, &at);
		} else {
			*to = s;
			n = run_rare(to, w);
			s = *to;
		}
		if (CP_RULES_RARELY(!n))
			return CP_RULES_UNKNOWN;
		p += n;
		if (CP_RULES_RARELY(at > g->pc))
			break;
	}
	*to = s;
	/* The last operand may have been cut off. */
	return p > end ? CP_RULES_UNKNOWN : at > g->pc ? CP_RULES_BEFORE_LAST : CP_RULES_IN_LAST;
}

#endif
