/* The rule of a pc that the cache has none for, straight from its function's information; see
 * rules.h.
 *
 * For what compilers write: a CIE that is known by its bytes, and instructions that count the CFA
 * from a register and save registers below it. Nothing else is tried: whatever this does not know
 * well is left to the row of cfi_row.c, which knows all, so that the rule is the row's or none.
 */
#include "sigsafe/rules.h"

#define NESTED 2
#define OPERAND_MAX 0x7f /* of one byte */
#define GONE 0xff	 /* a slot: the register is undefined */

/* What is in the registers, as far as rules can say it. */
struct state {
	uint32_t reg, offset; /* of the CFA */
	uint8_t slot[CP_CFI_COLUMNS + 1];
};

/* The instructions of a function, as far as they have been run. */
struct program {
	const uint8_t *p, *end;
	uint64_t start, at, pc; /* the latter two from the first on */
	struct state now, kept[NESTED];
	unsigned depth;
	bool outermost; /* by the CIE: nothing called such code */
};

/* The begin of an FDE under such a CIE. */
struct fde {
	uint32_t length, cie;
	int32_t start, size;
	uint8_t augmentation; /* the data's length, of one byte */
} __attribute__((packed));

#define LONG_LENGTH 0xffffffff

static bool inside(const struct cp_cfi_module *m, uint64_t addr, uint64_t size)
{
	return addr >= m->tables && addr < m->tables_end && m->tables_end - addr >= size;
}

enum kind { OTHER, USUAL, OUTERMOST };

/* What follows the usual instructions of a CIE. */
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

/* A CIE without exceptions: addresses are relative, of 4 bytes. */
static inline enum kind plain(const uint8_t *p, uint64_t size)
{
	static const char bytes[] = CP_CFI_USUAL_CIE;
	const size_t n = sizeof(bytes) - 1;

	return size < n || memcmp(p, bytes, n) ? OTHER : by_rest(p + n, p + size);
}

/* A CIE of functions with exceptions: a personality of 4 bytes, too. What the language's data looks
 * like does not matter, its length is in the FDE. */
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

/* The CIE at ADDR. */
static __attribute__((noinline)) enum kind kind_of(const struct cp_cfi_module *m, uint64_t addr)
{
	const uint8_t *p = (const uint8_t *)(uintptr_t)addr;
	enum kind kind;
	uint32_t size;

	if (!inside(m, addr, sizeof(size)))
		return OTHER;
	memcpy(&size, p, sizeof(size));
	if (size == LONG_LENGTH || !inside(m, addr + sizeof(size), size))
		return OTHER;
	p += sizeof(size);
	kind = plain(p, size);
	return kind == OTHER ? with_exceptions(p, size) : kind;
}

/* Set up PROGRAM for PC. False: the FDE at ADDR is of another kind, or not PC's. */
static inline bool begin(struct program *g, const struct cp_cfi_module *m, uint64_t addr,
			 uint64_t pc, uint32_t *usual_cie)
{
	const uint8_t *p = (const uint8_t *)(uintptr_t)addr;
	enum kind kind = USUAL;
	uint64_t cie;
	struct fde f;

	if (!inside(m, addr, sizeof(f)))
		return false;
	memcpy(&f, p, sizeof(f));
	if (f.length < sizeof(f) - sizeof(f.length) + f.augmentation || f.length == LONG_LENGTH ||
	    f.augmentation > OPERAND_MAX || !inside(m, addr + sizeof(f.length), f.length))
		return false;
	cie = addr + offsetof(struct fde, cie) - f.cie;
	if (!*usual_cie || cie - m->tables != *usual_cie) {
		kind = kind_of(m, cie);
		if (kind == USUAL)
			*usual_cie = (uint32_t)(cie - m->tables);
	}
	g->outermost = kind == OUTERMOST;
	g->p = p + sizeof(f) + f.augmentation;
	g->end = p + sizeof(f.length) + f.length;
	g->start = addr + offsetof(struct fde, start) + (uint64_t)(int64_t)f.start;
	g->pc = pc - g->start;
	return kind != OTHER && f.size > 0 && g->pc < (uint32_t)f.size;
}

/* A number of one or two bytes. False: there is none. */
static inline bool number(struct program *g, uint32_t *n)
{
	if (g->p == g->end)
		return false;
	*n = *g->p++;
	if (*n <= OPERAND_MAX)
		return true;
	if (g->p == g->end || *g->p > OPERAND_MAX)
		return false;
	*n = (*n & 0x7f) | (uint32_t)*g->p++ << 7;
	return true;
}

static inline bool advance(struct program *g, unsigned bytes)
{
	uint32_t by = 0;

	if (g->end - g->p < bytes)
		return false;
	for (unsigned i = 0; i < bytes; i++)
		by |= (uint32_t)*g->p++ << 8 * i;
	g->at += (uint64_t)by * CP_CFI_USUAL_CODE_ALIGN;
	return true;
}

static inline bool keep(struct program *g)
{
	if (g->depth == NESTED)
		return false;
	g->kept[g->depth++] = g->now;
	return true;
}

static inline bool recall(struct program *g)
{
	if (!g->depth)
		return false;
	g->now = g->kept[--g->depth];
	return true;
}

/* An instruction that is not in each function's begin. False: none that is known here. */
static __attribute__((noinline)) bool run_rare(struct program *g, uint8_t op)
{
	uint32_t n;

	if (op >> 6 == 3) { /* restore */
		unsigned column = cp_cfi_column(op & 0x3f);

		g->now.slot[column] = column == CP_CFI_RA ? CP_CFI_USUAL_RA_SLOT : 0;
		return true;
	}
	/* Not by the table that a switch is: nobody predicts where its jump goes. */
	if (op == 0x0a)
		return keep(g);
	if (op == 0x0b)
		return recall(g);
	if (op == 0x0e)
		return number(g, &g->now.offset);
	switch (op) {
	case 0x00: return true;
	case 0x02: return advance(g, 1);
	case 0x03: return advance(g, 2);
	case 0x04: return advance(g, 4);
	case 0x07: /* undefined */
		if (!number(g, &n))
			return false;
		g->now.slot[cp_cfi_column(n)] = GONE;
		return true;
	case 0x0c: /* def_cfa */
		return number(g, &g->now.reg) && number(g, &g->now.offset) && g->now.reg < CP_REGS;
	case 0x0d: return number(g, &g->now.reg) && g->now.reg < CP_REGS;
	case 0x2c:
	case 0x2d: return true;		 /* signed return addresses (aarch64) */
	case 0x2e: return number(g, &n); /* GNU_args_size */
	default: return false;
	}
}

/* Until the location has passed the pc, or the end. False: the row must tell. What nearly every
 * function begins with is done without going through memory. */
static inline bool run(struct program *g)
{
	const uint8_t *p = g->p, *const last = g->end - 1;
	uint64_t at = 0;

	while (p < last) {
		uint8_t op = p[0], operand = p[1];

		if (op >> 6 == 1) { /* advance_loc */
			p++;
			at += (op & 0x3f) * CP_CFI_USUAL_CODE_ALIGN;
			if (at > g->pc)
				return true;
		} else if (op == 0x0e && operand <= OPERAND_MAX) { /* def_cfa_offset */
			p += 2;
			g->now.offset = operand;
		} else if (op >> 6 == 2) { /* offset */
			p += 2;
			g->now.slot[cp_cfi_column(op & 0x3f)] = operand;
			if (operand - 1u >= OPERAND_MAX)
				return false;
		} else if (op == 0x02) { /* advance_loc1 */
			p += 2;
			at += operand * CP_CFI_USUAL_CODE_ALIGN;
			if (at > g->pc)
				return true;
		} else if (op == 0x00) {
			p++;
		} else {
			g->p = p + 1;
			g->at = at;
			if (!run_rare(g, op))
				return false;
			p = g->p;
			at = g->at;
			if (at > g->pc)
				return true;
		}
	}
	/* One that has no operand may be the last byte. */
	g->p = p + 1;
	g->at = at;
	return p > last || *p >> 6 == 1 || run_rare(g, *p);
}

/* The rule of a function like most, or 0. */
static inline uint32_t usual_rule(struct program *g, bool exact)
{
	/* An FDE that says nothing may lie. */
	if (g->p == g->end || !*g->p)
		return 0;
	g->depth = 0;
	g->now = (struct state){ .reg = CP_REG_SP,
				 .offset = CP_CFI_USUAL_CFA_OFFSET,
				 .slot[CP_CFI_RA] = CP_CFI_USUAL_RA_SLOT };
	if (!run(g))
		return 0;
	if (exact && g->now.reg == CP_REG_SP && cp_cfi_frees(g->start, g->start + g->pc))
		return 0;
	if (g->now.slot[CP_CFI_RA] == GONE)
		return CP_RULE_MARK | CP_RULE_OUTERMOST;
	return cp_rule_of_slots(g->now.reg, g->now.offset, g->now.slot);
}

/* Where the CIE says that there is no caller, the function mostly says nothing. */
static inline uint32_t outermost_rule(const struct program *g)
{
	const struct cp_cfi_cursor program = { .p = g->p, .end = g->end };

	return cp_cfi_is_padding(&program) ? CP_RULE_MARK | CP_RULE_OUTERMOST : 0;
}

uint32_t cp_rules_learn(const struct cp_cfi_module *m, uint64_t pc, bool exact, uint32_t *usual_cie)
{
	uint64_t addr = cp_cfi_fde_before(m, pc);
	struct program g;
	uint32_t rule;

	if (!addr || !begin(&g, m, addr, pc, usual_cie))
		return 0;
	rule = g.outermost ? outermost_rule(&g) : usual_rule(&g, exact);
	cp_rules_put(pc, rule);
	return rule;
}
