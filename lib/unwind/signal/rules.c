/* SPDX-License-Identifier: BSD-3-Clause */
/* The rule cache's table; see rules.h. */
#include "unwind/signal/rules.h"

/* 128 KiB; only pages that are used take memory. */
uint64_t cp_rules_cache[1 << CP_RULES_SLOT_BITS];

void cp_rules_clear(void)
{
	for (unsigned i = 0; i < 1 << CP_RULES_SLOT_BITS; i++)
		cp_store_relaxed(&cp_rules_cache[i], 0);
}

#if defined(__x86_64__)

bool cp_rules_read_elsewhere(uint32_t rule, uint64_t cfa, struct cp_rule_frame *q,
			     struct cp_stackmem *stack)
{
	q->sp = cfa;
	return cp_stackmem_read(stack, cfa - 8, &q->pc) &&
	       cp_stackmem_read(stack, cfa - cp_rule_below(rule, CP_RULE_FP_SHIFT), &q->fp) &&
	       cp_stackmem_read(stack, cfa - cp_rule_below(rule, CP_RULE_BX_SHIFT), &q->bx);
}

#endif
