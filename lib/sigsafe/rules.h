/* A cache from pc to the unwind rule that holds there, for the rules that most
 * code has, so that a warm frame costs a few loads.
 *
 * Direct-mapped, shared by all threads, no lock: an entry is one word, so a reader
 * sees all of it or none. The pc is hashed by a bijection of its bits; the slot and
 * the rest of the hash (the tag) give all of it back, so a hit is never another pc.
 *
 *     63                     31 30                0
 *     tag: hash without slot    rule, never 0; 0 = empty entry
 *
 * | call         | may run together with                                     |
 * |--------------|-----------------------------------------------------------|
 * | find, put    | find, put, on any thread and in its handlers              |
 * | clear        | nothing: the caller keeps walks away while a module goes  |
 */
#ifndef CP_RULES_H
#define CP_RULES_H

#include <stdint.h>

#include "sigsafe/atomic.h"
#include "sigsafe/cfi.h"

#if defined(__x86_64__)
#include "sigsafe/rules_x86_64.h"
#elif defined(__aarch64__)
#include "sigsafe/rules_aarch64.h"
#endif

#define CP_RULES_SLOT_BITS 14
#define CP_RULES_TAG_BITS (CP_CFI_PC_BITS - CP_RULES_SLOT_BITS)
#define CP_RULES_RULE_BITS (64 - CP_RULES_TAG_BITS)

_Static_assert(CP_RULE_BITS <= CP_RULES_RULE_BITS, "a rule and its tag fit into one word");

extern uint64_t cp_rules_cache[1 << CP_RULES_SLOT_BITS];

/* What stands for a pc: callers are looked up by their return address less one, which is there
 * before one is subtracted. */
static inline uint64_t cp_rules_key(uint64_t pc)
{
	return pc + 1;
}

/* In the highest bits. An odd factor (2^64 / golden ratio) is a bijection modulo any power of two.
 */
static inline uint64_t cp_rules_hash(uint64_t key)
{
	return key * (UINT64_C(0x9e3779b97f4a7c15) << (64 - CP_CFI_PC_BITS));
}

static inline uint64_t *cp_rules_slot(uint64_t hash)
{
	return &cp_rules_cache[hash >> (64 - CP_RULES_SLOT_BITS)];
}

/* The rule of a key's pc, with any bits above CP_RULES_RULE_BITS. False: there is none. The pc must
 * not have more than CP_CFI_PC_BITS. */
static inline bool cp_rules_get(uint64_t key, uint32_t *rule)
{
	uint64_t hash = cp_rules_hash(key);
	/* Relaxed: the word is all there is, nothing is read through it. */
	uint64_t entry = cp_load_relaxed(cp_rules_slot(hash));

	*rule = (uint32_t)entry;
	return !((entry ^ hash << CP_RULES_SLOT_BITS) >> CP_RULES_RULE_BITS) &&
	       entry & CP_RULE_MARK;
}

/* The rule of PC, or 0. */
static inline uint32_t cp_rules_find(uint64_t pc)
{
	uint32_t rule;

	return cp_rules_get(cp_rules_key(pc), &rule)
		       ? rule & (uint32_t)((UINT64_C(1) << CP_RULES_RULE_BITS) - 1)
		       : 0;
}

/* Nothing, if RULE is 0. */
static inline void cp_rules_put(uint64_t pc, uint32_t rule)
{
	uint64_t hash = cp_rules_hash(cp_rules_key(pc));

	if (!(pc >> CP_CFI_PC_BITS) && rule)
		cp_store_relaxed(cp_rules_slot(hash), hash << CP_RULES_SLOT_BITS | rule);
}

/* Look the rule of PC, in M, which stays, up and put it: what cp_rule_of gives for its row, or 0,
 * where the row must be asked. EXACT: PC was interrupted. What is found out of M stands in it. */
uint32_t cp_rules_learn(struct cp_cfi_module *m, uint64_t pc, bool exact);
void cp_rules_clear(void);

#endif
