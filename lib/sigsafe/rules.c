/* The rule cache's table; see rules.h. */
#include "sigsafe/rules.h"

/* 128 KiB, touched only as far as it is used. */
uint64_t cp_rules_cache[1 << CP_RULES_SLOT_BITS];

void cp_rules_put(uint64_t pc, uint32_t rule)
{
	uint64_t hash = cp_rules_hash(pc);

	if (pc >> CP_CFI_PC_BITS || !rule)
		return;
	cp_store_relaxed(&cp_rules_cache[hash >> CP_RULES_TAG_BITS],
			 hash << CP_RULES_RULE_BITS | rule);
}

void cp_rules_clear(void)
{
	for (unsigned i = 0; i < 1 << CP_RULES_SLOT_BITS; i++)
		cp_store_relaxed(&cp_rules_cache[i], 0);
}
