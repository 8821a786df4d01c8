/* Call frame instructions that most functions have, run up to a pc: for rules_learn.c only.
 *
 * Nothing is tried but what is known well; all else is UNKNOWN, and the row's (cfi_row.c). Inline,
 * and by as few jumps as can be: what code that is new costs is for the most part jumps, because
 * nobody knows yet where they lead.
 */
#ifndef CP_RULES_RUN_H
#define CP_RULES_RUN_H

#include <string.h>

#include "sigsafe/rules.h"

#define CP_RULES_RARELY(condition) __builtin_expect(condition, 0)

#define CP_RULES_NESTED 2
#define CP_RULES_OPERAND_MAX 0x7f /* of one byte */

/* What is in the registers, as far as rules can say it. */
struct cp_rules_state {
	uint64_t slots;	      /* see cp_rule_lane */
	uint32_t reg, offset; /* of the CFA */
};

/* The instructions of a function. */
struct cp_rules_program {
	const uint8_t *p, *end; /* at least a word's bytes are before END */
	uint64_t start, pc;	/* the latter from the first on */
	bool outermost;		/* by the CIE: nothing called such code */
};

/* The bytes from P on, 0 behind the end. */
static inline uint64_t window(const uint8_t *p, const uint8_t *end)
{
	int64_t back = 8 - (end - p);
	unsigned half; /* in bits: all of them may be too many at once */
	uint64_t w;

	back &= ~(back >> 63); /* no jump: nobody predicts it */
	half = 4 * (unsigned)back;
	memcpy(&w, p - back, sizeof(w));
	return w >> half >> half;
}

static inline void save(struct cp_rules_state *s, unsigned reg, uint64_t slot)
{
	unsigned lane = cp_rule_lane(reg);

	s->slots = (s->slots & ~(UINT64_C(0xff) << lane)) | slot << lane;
}

/* As the CIE has it. */
static inline void restore(struct cp_rules_state *s, unsigned reg)
{
	uint64_t lane = UINT64_C(0xff) << cp_rule_lane(reg);

	s->slots = (s->slots & ~lane) | (CP_RULE_USUAL_LANES & lane);
}

/* A number of one or two bytes at the begin of W; how many, or 0. */
static inline unsigned number(uint64_t w, uint32_t *n)
{
	*n = w & 0x7f;
	if (!(w & 0x80))
		return 1;
	*n |= (uint32_t)(w >> 1) & 0x3f80;
	return w & 0x8000 ? 0 : 2;
}

/* def_cfa, def_cfa_register; the size, or 0. */
static inline unsigned define_cfa(struct cp_rules_state *s, uint64_t w)
{
	unsigned n;

	s->reg = w >> 8 & 0xff;
	if (s->reg >= CP_REGS)
		return 0;
	if ((w & 0xff) == 0x0d)
		return 2;
	n = number(w >> 16, &s->offset);
	return n ? 2 + n : 0;
}

/* Others; the size, or 0: none that is known here. */
static __attribute__((noinline)) unsigned run_rare(struct cp_rules_state *s, uint64_t w)
{
	uint8_t op = (uint8_t)w, operand = (uint8_t)(w >> 8);
	uint32_t n;

	if (op == 0x0c || op == 0x0d)
		return define_cfa(s, w);
	if (op >> 6 == 3) {
		restore(s, op & 0x3f);
		return 1;
	}
	if (op == 0x07 && operand <= CP_RULES_OPERAND_MAX) { /* undefined */
		save(s, operand, CP_RULE_GONE);
		return 2;
	}
	if (op == 0x2e && number(w >> 8, &n)) /* GNU_args_size */
		return 1 + number(w >> 8, &n);
	return op == 0x2c || op == 0x2d; /* signed return addresses (aarch64) */
}

/* advance_loc1, 2 and 4; the size. */
static inline unsigned advance(uint64_t w, uint64_t *at)
{
	unsigned n = 1u << ((w & 0xff) - 0x02);

	*at += (w >> 8 & ((UINT64_C(1) << 8 * n) - 1)) * CP_CFI_USUAL_CODE_ALIGN;
	return 1 + n;
}

/* offset, of one byte; its size, or 0. */
static inline unsigned run_offset(struct cp_rules_state *s, uint64_t w)
{
	if (CP_RULES_RARELY(w & 0x8000 || !(w & 0x7f00)))
		return 0;
	save(s, w & 0x3f, w >> 8 & CP_RULES_OPERAND_MAX);
	return 2;
}

/* advance_loc, def_cfa_offset, offset; and without the last. Operands are of one byte. */
#define CP_RULES_PUSH_MASK UINT64_C(0x80c080ffc0)
#define CP_RULES_PUSH UINT64_C(0x0080000e40)
#define CP_RULES_POP_MASK 0x80ffc0u
#define CP_RULES_POP 0x000e40u

/* What W's advance_loc makes room for: mostly a push, or a pop. The size of all of it, or 0. */
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

/* Behind the restore_state of one of a function's ends in the middle, in which no more than the CFA
 * moves; P is behind its remember_state. NULL: it is another, or PC is in it. */
static inline const uint8_t *skip_end(const uint8_t *p, const uint8_t *end, uint64_t *at,
				      uint64_t pc)
{
	uint64_t w = window(p, end), now = *at;

	if ((w & 0x80ff) == 0x0e) {
		p += 2;
		w = window(p, end);
	}
	while ((w & CP_RULES_POP_MASK) == CP_RULES_POP) {
		now += (w & 0x3f) * CP_CFI_USUAL_CODE_ALIGN;
		p += 3;
		w = window(p, end);
	}
	now += (w & 0x3f) * CP_CFI_USUAL_CODE_ALIGN;
	if (CP_RULES_RARELY((w & 0xffc0) != 0x0b40 || now > pc))
		return NULL;
	*at = now;
	return p + 2;
}

enum cp_rules_where { CP_RULES_UNKNOWN, CP_RULES_BEFORE_LAST, CP_RULES_IN_LAST }; /* rows */

/* From TO on until the location has passed the pc, or the end. UNKNOWN: the row must tell. */
static inline enum cp_rules_where cp_rules_run(const struct cp_rules_program *g,
					       struct cp_rules_state *to)
{
	const uint8_t *p = g->p, *const end = g->end;
	struct cp_rules_state s = *to, kept[CP_RULES_NESTED];
	unsigned depth = 0, n;
	uint64_t at = 0;

	for (;;) {
		uint64_t w = window(p, end);
		uint8_t op = (uint8_t)w;

		if (op >> 6 == 1) { /* advance_loc */
			at += (op & 0x3f) * CP_CFI_USUAL_CODE_ALIGN;
			if (CP_RULES_RARELY(at > g->pc))
				break;
			n = run_move(&s, w);
		} else if (op >> 6 == 2) {
			n = run_offset(&s, w);
		} else if (op == 0x0e) { /* def_cfa_offset */
			n = number(w >> 8, &s.offset);
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
			n = advance(w, &at);
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
	/* An operand may have been cut. */
	return p > end ? CP_RULES_UNKNOWN : at > g->pc ? CP_RULES_BEFORE_LAST : CP_RULES_IN_LAST;
}

#endif
