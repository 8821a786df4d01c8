/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* A cache from a pc to its unwind rule, for the kinds of rule that most code has. A cached frame
 * costs a few loads.
 *
 * Direct-mapped, shared by all threads, no lock: an entry is one word, so a reader sees all of it
 * or nothing. The pc is hashed by a bijection of its bits. The slot number and the rest of the hash
 * (the tag) determine the pc, so a hit never belongs to another pc.
 *
 *     63                     31 30                0
 *     tag: hash without slot    rule, never 0; 0 = empty entry
 *
 * | call         | may run together with                                       |
 * |--------------|-------------------------------------------------------------|
 * | find, put    | find, put, on any thread and in its handlers                |
 * | clear        | nothing: the caller excludes walks while a module goes away |
 */
/* clang-format on */
#ifndef CP_RULES_H
#define CP_RULES_H

#include "unwind/signal/unwind_signal.h"

#if defined(__x86_64__)
#include "unwind/signal/rules_x86_64.h"
#elif defined(__aarch64__)
#include "unwind/signal/rules_aarch64.h"
#endif

#define CP_RULES_SLOT_BITS 14
#define CP_RULES_TAG_BITS (CP_CFI_PC_BITS - CP_RULES_SLOT_BITS)
#define CP_RULES_RULE_BITS (64 - CP_RULES_TAG_BITS)

_Static_assert(CP_RULE_BITS <= CP_RULES_RULE_BITS, "a rule and its tag fit into one word");

extern uint64_t cp_rules_cache[1 << CP_RULES_SLOT_BITS];

/* Returns the cache key of a pc. Callers are looked up by their return address minus one, so the
 * added one saves the subtraction. */
static inline uint64_t cp_rules_key(uint64_t pc)
{
	return pc + 1;
}

/* The hash is in the highest bits. An odd factor (2^64 / golden ratio) is a bijection modulo any
 * power of two. */
static inline uint64_t cp_rules_hash(uint64_t key)
{
	return key * (UINT64_C(0x9e3779b97f4a7c15) << (64 - CP_CFI_PC_BITS));
}

static inline uint64_t *cp_rules_slot(uint64_t hash)
{
	return &cp_rules_cache[hash >> (64 - CP_RULES_SLOT_BITS)];
}

/* Get the rule of a key's pc; bits above CP_RULES_RULE_BITS are undefined. Returns false if there
 * is none. The pc must not have more than CP_CFI_PC_BITS. */
static inline bool cp_rules_get(uint64_t key, uint32_t *rule)
{
	uint64_t hash = cp_rules_hash(key);
	/* Relaxed: the entry is one word, and nothing is read through it. */
	uint64_t entry = cp_load_relaxed(cp_rules_slot(hash));

	*rule = (uint32_t)entry;
	return !((entry ^ hash << CP_RULES_SLOT_BITS) >> CP_RULES_RULE_BITS) &&
	       entry & CP_RULE_MARK;
}

/* Returns the rule of PC, or 0. */
static inline uint32_t cp_rules_find(uint64_t pc)
{
	uint32_t rule;

	return cp_rules_get(cp_rules_key(pc), &rule)
		       ? rule & (uint32_t)((UINT64_C(1) << CP_RULES_RULE_BITS) - 1)
		       : 0;
}

/* Store the rule of PC. Does nothing if RULE is 0. */
static inline void cp_rules_put(uint64_t pc, uint32_t rule)
{
	uint64_t hash = cp_rules_hash(cp_rules_key(pc));

	if (!(pc >> CP_CFI_PC_BITS) && rule)
		cp_store_relaxed(cp_rules_slot(hash), hash << CP_RULES_SLOT_BITS | rule);
}

/* Look up the rule of PC in M, a module that stays, and put it into the cache. Returns the rule
 * that cp_rule_of gives for PC's row, or 0 if the row itself is needed. EXACT: PC was interrupted.
 * Facts found about M are cached in *M. */
uint32_t cp_rules_learn(struct cp_cfi_module *m, uint64_t pc, bool exact);
void cp_rules_clear(void);

#endif
