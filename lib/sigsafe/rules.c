/* The rule cache's table; see rules.h. */
#include "sigsafe/rules.h"

/* 128 KiB, touched only as far as it is used. */
uint64_t cp_rules_cache[1 << CP_RULES_SLOT_BITS];

void cp_rules_clear(void)
{
	for (unsigned i = 0; i < 1 << CP_RULES_SLOT_BITS; i++)
		cp_store_relaxed(&cp_rules_cache[i], 0);
}

#if defined(__x86_64__)

bool cp_rule_read_elsewhere(uint32_t rule, uint64_t cfa, struct cp_rule_frame *q,
			    struct cp_stackmem *stack)
{
	q->sp = cfa;
	return cp_stackmem_read(stack, cfa - 8, &q->pc) &&
	       cp_stackmem_read(stack, cfa - cp_rule_below(rule, CP_RULE_FP_SHIFT), &q->fp) &&
	       cp_stackmem_read(stack, cfa - cp_rule_below(rule, CP_RULE_BX_SHIFT), &q->bx);
}

#endif
