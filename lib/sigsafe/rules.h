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

/* An odd factor (2^64 / golden ratio) is a bijection modulo any power of two. */
static inline uint64_t cp_rules_hash(uint64_t pc)
{
	return pc * UINT64_C(0x9e3779b97f4a7c15) & ((UINT64_C(1) << CP_CFI_PC_BITS) - 1);
}

/* The rule of PC, or 0. A pc of more than CP_CFI_PC_BITS must not come here. */
static inline uint32_t cp_rules_find(uint64_t pc)
{
	uint64_t hash = cp_rules_hash(pc);
	/* Relaxed: the word is all there is, nothing is read through it. */
	uint64_t entry = cp_load_relaxed(&cp_rules_cache[hash >> CP_RULES_TAG_BITS]);

	if ((entry ^ hash << CP_RULES_RULE_BITS) >> CP_RULES_RULE_BITS)
		return 0;
	return (uint32_t)entry & (uint32_t)((UINT64_C(1) << CP_RULES_RULE_BITS) - 1);
}

void cp_rules_put(uint64_t pc, uint32_t rule);
void cp_rules_clear(void);

#endif
