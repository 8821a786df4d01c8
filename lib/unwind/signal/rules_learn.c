/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the rule of a pc that isn't in the cache, straight from its function's information; see
 * rules.h.
 *
 * Handles the output of compilers: a CIE that is recognized by its bytes, and instructions that
 * count the CFA from a register and save registers below it. Everything else is left to the row of
 * cfi_row.c, which handles all instructions. So the result equals the row's rule, or there is no
 * result.
 */
#include "unwind/signal/cfi_search.h"
#include "unwind/signal/rules.h"

/* Runs the call frame instructions that most functions have, up to a pc.
 *
 * Only well-known instructions are run. Everything else is UNKNOWN and left to the row (cfi_row.c).
 * Inline, and with as few jumps as possible: jumps are most of the cost of new code, because the
 * CPU can't predict them yet.
 */

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

/* The beginning of an FDE that belongs to such a CIE. */
struct fde {
	uint32_t length, cie;
	int32_t start, size;
	uint8_t augmentation; /* length of the data, one byte */
} __attribute__((packed));

#define LENGTH_MIN (sizeof(struct fde) - sizeof(uint32_t))
#define LENGTH_MAX 0xffff /* far longer than any function's information */

enum kind { OTHER, USUAL, OUTERMOST };

/* Classify a CIE by the instructions after the usual ones. */
static inline enum kind by_rest(const uint8_t *p, const uint8_t *end)
{
	struct cp_cfi_cursor rest = { .p = p, .end = end };
	enum kind kind = USUAL;

	/* undefined: _start's return address */
	if (end - p >= 2 && p[0] == 0x07 && cp_cfi_column(p[1]) == CP_CFI_RA) {
		kind = OUTERMOST;
		rest.p += 2;
	}
	return cp_cfi_is_padding(&rest) ? kind : OTHER;
}

/* A CIE without exceptions: addresses are relative, 4 bytes. */
static inline enum kind plain(const uint8_t *p, uint64_t size)
{
	static const char bytes[] = CP_CFI_USUAL_CIE;
	const size_t n = sizeof(bytes) - 1;

	return size < n || memcmp(p, bytes, n) ? OTHER : by_rest(p + n, p + size);
}

/* A CIE of functions with exceptions: it also has a personality of 4 bytes. The format of the
 * language's data does not matter, because its length is in the FDE. */
static inline enum kind with_exceptions(const uint8_t *p, uint64_t size)
{
	static const char head[] = "\0\0\0\0\x01zPLR\0" CP_CFI_USUAL_UNITS "\x07",
			  begin[] = CP_CFI_USUAL_BEGIN;
	const size_t n = sizeof(head) - 1, behind = n + 7, all = behind + sizeof(begin) - 1;

	if (size < all || memcmp(p, head, n) || (p[n] & 0x07) != 0x03 ||
	    p[n + 6] != (CP_CFI_ENC_PCREL | CP_CFI_ENC_SDATA4) ||
	    memcmp(p + behind, begin, sizeof(begin) - 1))
		return OTHER;
	return by_rest(p + all, p + size);
}

/* Returns the kind of the CIE at ADDR. */
static __attribute__((noinline)) enum kind kind_of(const struct cp_cfi_module *m, uint64_t addr)
{
	const uint8_t *p = (const uint8_t *)(uintptr_t)addr;
	enum kind kind;
	uint32_t size;

	if (!cp_cfi_inside(m, addr, sizeof(size)))
		return OTHER;
	memcpy(&size, p, sizeof(size));
	if (size > LENGTH_MAX || !cp_cfi_inside(m, addr + sizeof(size), size))
		return OTHER;
	p += sizeof(size);
	kind = plain(p, size);
	return kind == OTHER ? with_exceptions(p, size) : kind;
}

/* Set up PROGRAM for PC. Returns false if the FDE at ADDR is of another kind, or does not cover PC.
 */
static inline bool begin_program(struct cp_rules_program *g, struct cp_cfi_module *m, uint64_t addr,
				 uint64_t pc)
{
	const uint8_t *p = (const uint8_t *)(uintptr_t)addr;
	enum kind kind = USUAL;
	uint64_t cie;
	struct fde f;

	if (CP_RULES_RARELY(!cp_cfi_inside(m, addr, sizeof(f))))
		return false;
	memcpy(&f, p, sizeof(f));
	if (CP_RULES_RARELY(f.length - LENGTH_MIN - f.augmentation > LENGTH_MAX ||
			    f.augmentation > CP_RULES_OPERAND_MAX ||
			    f.length > m->tables_end - addr - sizeof(f.length)))
		return false;
	cie = addr + offsetof(struct fde, cie) - f.cie - m->tables;
	if (CP_RULES_RARELY(cie != cp_load_relaxed(&m->usual_cie) || !cie)) {
		kind = kind_of(m, cie + m->tables);
		if (kind == OTHER)
			return false;
		if (kind == USUAL)
			cp_store_relaxed(&m->usual_cie, (uint32_t)cie);
	}
	g->outermost = kind == OUTERMOST;
	g->p = p + sizeof(f) + f.augmentation;
	g->end = p + sizeof(f.length) + f.length;
	g->start = addr + offsetof(struct fde, start) + (uint64_t)(int64_t)f.start;
	g->pc = pc - g->start;
	return !CP_RULES_RARELY(g->pc >= (uint64_t)(int64_t)f.size || f.size <= 0);
}

/* Returns the rule of an ordinary function, or 0. */
static inline uint32_t usual_rule(const struct cp_rules_program *g, bool exact)
{
	struct cp_rules_state s = { .slots = CP_RULE_USUAL_LANES,
				    .reg = CP_REG_SP,
				    .offset = CP_CFI_USUAL_CFA_OFFSET };
	enum cp_rules_where where;

	/* An FDE without instructions may be wrong. */
	if (CP_RULES_RARELY(g->p >= g->end || !*g->p || cp_cfi_is_behind_stub(g->p, g->end)))
		return 0;
	where = cp_rules_run(g, &s);
	if (CP_RULES_RARELY(where == CP_RULES_UNKNOWN))
		return 0;
	/* The quirk needs a later row with a smaller offset; after the last row there is none. */
	if (CP_RULES_RARELY(exact) && where == CP_RULES_BEFORE_LAST && s.reg == CP_REG_SP &&
	    cp_cfi_quirks_frees(g->start, g->start + g->pc))
		return 0;
	return cp_rule_of_slots(s.reg, s.offset, s.slots);
}

/* If the CIE says that there is no caller, the FDE mostly has no instructions. */
static inline uint32_t outermost_rule(const struct cp_rules_program *g)
{
	const struct cp_cfi_cursor program = { .p = g->p, .end = g->end };

	return cp_cfi_is_padding(&program) ? CP_RULE_MARK | CP_RULE_OUTERMOST : 0;
}

/* Check that M's table can be searched, and cache the number of its entries. */
static __attribute__((noinline)) uint32_t count_entries(struct cp_cfi_module *m)
{
	struct cp_cfi_sorted t;
	struct cp_cfi_head h;

	if (!m->hdr || !cp_cfi_inside(m, m->hdr, sizeof(h)))
		return 0;
	memcpy(&h, (const void *)(uintptr_t)m->hdr, sizeof(h));
	if (!cp_cfi_sorted_by(m, &h, &t))
		return 0;
	cp_store_relaxed(&m->entries, h.count);
	return h.count;
}

/* Returns the FDE of the last function that starts at or before PC; 0 = none. */
static inline uint64_t fde_before(struct cp_cfi_module *m, uint64_t pc)
{
	struct cp_cfi_sorted t = { .base = m->hdr, .at = m->hdr + sizeof(struct cp_cfi_head) };
	struct cp_cfi_entry e;
	int32_t want;

	t.count = cp_load_relaxed(&m->entries);
	if (CP_RULES_RARELY(!t.count) && !cp_cfi_built(m, &t))
		t.count = count_entries(m);
	if (CP_RULES_RARELY(!t.count || !cp_cfi_in_range(&t, pc, &want)))
		return 0;
	memcpy(&e, (const char *)cp_cfi_search(&t, want), sizeof(e));
	return e.start <= want ? t.base + (uint64_t)(int64_t)e.fde : 0;
}

uint32_t cp_rules_learn(struct cp_cfi_module *m, uint64_t pc, bool exact)
{
	uint64_t addr = fde_before(m, pc);
	struct cp_rules_program g;
	uint32_t rule;

	if (CP_RULES_RARELY(!addr || !begin_program(&g, m, addr, pc)))
		return 0;
	rule = CP_RULES_RARELY(g.outermost) ? outermost_rule(&g) : usual_rule(&g, exact);
	cp_rules_put(pc, rule);
	return rule;
}
