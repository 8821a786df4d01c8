/* SPDX-License-Identifier: BSD-3-Clause */
/* The rule that cp_rules_learn must come to, if it comes to one, by the way that knows all: for its
 * test and the fuzzer.
 */
#ifndef LEARNT_H
#define LEARNT_H

#include "unwind/signal/rules.h"

/* 0: none may be learnt. EXACT reads the code before PC. */
static uint32_t rule_by_row(const struct cp_cfi_module *m, uint64_t pc, bool exact)
{
	struct cp_cfi_fde fde;
	struct cp_cfi_row row;

	if (!cp_cfi_table_find(m, pc, NULL, &fde) || fde.signal || cp_cfi_row(&fde, pc, &row))
		return 0;
	if (CP_CFI_KIND(row.rules[fde.ra_column]) != CP_CFI_UNDEFINED && cp_cfi_says_nothing(&fde))
		return 0; /* the code's pushes are asked */
	if (exact)
		cp_cfi_quirks_freed_early(&fde, pc, &row, false);
	return cp_rule_of(&row);
}

#endif
