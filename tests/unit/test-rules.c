/* SPDX-License-Identifier: BSD-3-Clause */
/* The rule cache. */
#include "harness.h"

#include "unwind/signal/rules.h"

static uint64_t state = 88172645463325252u;

static uint64_t next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* The value that is stored for a pc, so that any hit can be checked: never 0. */
static uint32_t rule_for(uint64_t pc)
{
	return CP_RULE_MARK | (uint32_t)(pc * 0x9e3779b1u >> 5 & ((1u << CP_RULE_BITS) - 1));
}

static uint64_t some_pc(uint64_t *s)
{
	/* near each other, as code is, and far apart */
	uint64_t r = next(s);

	return (r & 1 ? UINT64_C(0x7f0000000000) + (r >> 8 & 0xffffff) : r >> 8) &
	       ((UINT64_C(1) << CP_CFI_PC_BITS) - 1);
}

TEST(test_hit_is_never_another_pc)
{
	unsigned hits = 0;

	cp_rules_clear();
	for (unsigned i = 0; i < 2000000; i++) {
		uint64_t pc = some_pc(&state), other = some_pc(&state);
		uint32_t got;

		cp_rules_put(pc, rule_for(pc));
		got = cp_rules_find(pc);
		if (got != rule_for(pc))
			CHECK(!"found again");
		got = cp_rules_find(other);
		if (got && got != rule_for(other))
			CHECK(!"another pc's rule");
		hits += got != 0;
	}
	printf("# %u hits by chance\n", hits);
}

TEST(test_what_does_not_fit_is_not_put)
{
	cp_rules_clear();
	cp_rules_put(UINT64_C(1) << CP_CFI_PC_BITS, CP_RULE_MARK);
	cp_rules_put(UINT64_MAX, CP_RULE_MARK);
	cp_rules_put(0x401000, 0);
	for (unsigned i = 0; i < 1 << CP_RULES_SLOT_BITS; i++)
		if (cp_rules_cache[i])
			CHECK(!"empty");
}

static void *hammer(void *arg)
{
	uint64_t s = (uint64_t)(uintptr_t)arg;
	uintptr_t wrong = 0;

	for (unsigned i = 0; i < 1000000; i++) {
		uint64_t pc = some_pc(&s) & ~UINT64_C(0xfff0); /* few, so that threads meet */
		uint32_t got = cp_rules_find(pc);

		wrong += got && got != rule_for(pc);
		cp_rules_put(pc, rule_for(pc));
	}
	return (void *)wrong;
}

TEST(test_threads_never_see_a_torn_entry)
{
	pthread_t t[4];
	void *wrong;

	cp_rules_clear();
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, hammer, (void *)(i * 7919 + 1));
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(t[i], &wrong);
		CHECK_EQ((uintptr_t)wrong, 0);
	}
}

#if defined(__x86_64__)

static struct cp_cfi_row usual(void)
{
	struct cp_cfi_row row = { .cfa = CP_CFI_RULE(CP_CFI_REGISTER, 0, CP_REG_SP),
				  .cfa_offset = 64 };

	row.rules[CP_CFI_RA] = CP_CFI_RULE(CP_CFI_OFFSET, 0, -8);
	row.rules[cp_cfi_column(CP_REG_FP)] = CP_CFI_RULE(CP_CFI_OFFSET, 0, -16);
	row.rules[cp_cfi_column(CP_CFI_RBX)] = CP_CFI_RULE(CP_CFI_OFFSET, 0, -56);
	row.rules[cp_cfi_column(12)] = CP_CFI_RULE(CP_CFI_OFFSET, 0, -24);
	return row;
}

TEST(test_usual_row_becomes_a_rule)
{
	uint64_t stack[32];
	struct cp_stackmem m;
	volatile uint64_t nowhere = 8;
	struct cp_rule_frame q = { .pc = 1, .sp = (uint64_t)&stack[10], .fp = 2, .bx = 3 };
	struct cp_cfi_row row = usual();
	uint32_t rule = cp_rule_of(&row);

	CHECK(rule);
	for (unsigned i = 0; i < 32; i++)
		stack[i] = 100 + i;
	cp_stackmem_init(&m, q.sp, (uint64_t)stack, (uint64_t)(stack + 32));
	CHECK(cp_rule_step(rule, &q, &m));
	CHECK_EQ(q.sp, (uint64_t)&stack[18]);
	CHECK_EQ(q.pc, 117);
	CHECK_EQ(q.fp, 116);
	CHECK_EQ(q.bx, 111);
	q.sp = nowhere; /* the CFA is where nothing is */
	CHECK(!cp_rule_step(rule, &q, &m));
	q.sp = nowhere - 24; /* the CFA wraps */
	CHECK(!cp_rule_step(rule, &q, &m));
	CHECK_EQ(q.pc, 117);
}

TEST(test_unusual_rows_stay_out)
{
	struct cp_cfi_row row;

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		row = usual();                                                                     \
		change;                                                                            \
		CHECK_EQ(cp_rule_of(&row), 0);                                                     \
	} while (0)

	REFUSED(row.cfa = CP_CFI_RULE(CP_CFI_VAL_EXPR, 0, 5));
	REFUSED(row.cfa = CP_CFI_RULE(CP_CFI_REGISTER, 0, 12));
	REFUSED(row.cfa_offset = 12);
	REFUSED(row.cfa_offset = 0);
	REFUSED(row.cfa_offset = -8);
	REFUSED(row.cfa_offset = 8 << 14);
	REFUSED(row.rules[CP_CFI_RA] = CP_CFI_RULE(CP_CFI_OFFSET, 0, -16));
	REFUSED(row.rules[CP_CFI_RA] = CP_CFI_RULE(CP_CFI_REGISTER, 0, 1));
	REFUSED(row.rules[CP_CFI_RA] = CP_CFI_UNSET);
	REFUSED(row.rules[cp_cfi_column(CP_REG_FP)] = CP_CFI_RULE(CP_CFI_OFFSET, 0, -1024));
	REFUSED(row.rules[cp_cfi_column(CP_REG_FP)] = CP_CFI_RULE(CP_CFI_OFFSET, 0, -8));
	REFUSED(row.rules[cp_cfi_column(CP_REG_FP)] = CP_CFI_RULE(CP_CFI_OFFSET, 0, -17));
	REFUSED(row.rules[cp_cfi_column(CP_REG_FP)] = CP_CFI_UNDEFINED);
	REFUSED(row.rules[cp_cfi_column(CP_CFI_RBX)] = CP_CFI_RULE(CP_CFI_EXPR, 0, 3));
	REFUSED(row.rules[cp_cfi_column(CP_REG_SP)] = CP_CFI_RULE(CP_CFI_REGISTER, 0, 8));
	row = usual();
	row.rules[CP_CFI_RA] = CP_CFI_UNDEFINED;
	CHECK(cp_rule_is_outermost(cp_rule_of(&row)));
}

#endif
