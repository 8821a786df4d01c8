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
#include "unwind/signal/rules_run.h"

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
	if (CP_RULES_RARELY(g->p >= g->end || !*g->p))
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
