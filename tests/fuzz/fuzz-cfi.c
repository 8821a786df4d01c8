/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as .eh_frame_hdr and .eh_frame, any registers: a step or an error, no fault,
 * no read outside of the module and the stack.
 *
 * The input is 16 bytes of choices (where the pc is, what registers point to), then the
 * module's bytes. The module is copied to the end of its own allocation, so that
 * AddressSanitizer sees a read behind it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/unwind.h"
#include "unwind/signal/unwind_signal.h"

#include "../unit/learnt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHOICES 16
#define WORDS 128

/* A rule that is learnt is the row's. */
static void learn(const struct cp_cfi_module *m, uint64_t pc)
{
	struct cp_cfi_module own = *m;
	uint32_t rule = cp_rules_learn(&own, pc, false);

	if (rule && rule != rule_by_row(m, pc, false))
		abort();
}

static void run(const struct cp_cfi_module *m, const uint8_t *choice)
{
	static uint64_t stack[WORDS];
	struct cp_cfi_frame f = { .known = CP_CFI_ALL_KNOWN };
	struct cp_cfi_fde fde;
	struct cp_cfi_row row;
	uint64_t pc = m->start + choice[0] + (uint64_t)(choice[1] & 0x3f) * 256;
	int32_t far;

	/* As in a real module, whose code is before its tables. */
	memcpy(&far, choice + 2, sizeof(far));
	if (choice[1] & 0x80)
		pc = m->start + (uint64_t)(int64_t)far;
	for (unsigned i = 0; i < WORDS; i++)
		stack[i] = (uint64_t)&stack[(i * 7 + choice[i % CHOICES]) % WORDS];
	for (unsigned r = 0; r < CP_REGS; r++)
		f.regs.r[r] = (uint64_t)&stack[choice[r % CHOICES] % WORDS];
	cp_stackmem_init(&f.stack, f.regs.r[CP_REG_SP], (uint64_t)stack, (uint64_t)(stack + WORDS));
	cp_cfi_table_start_before(m, pc, false);
	learn(m, pc);
	if (!cp_cfi_table_find(m, pc, NULL, &fde) || cp_cfi_row(&fde, pc, &row))
		return;
	cp_rule_of(&row);
	cp_cfi_step(&f, &fde, &row);
}

/* The same bytes as a module whose linker made no table. */
static void build(struct cp_cfi_module m)
{
	struct cp_cfi_place place = { .segment = m.tables,
				      .segment_end = m.tables_end,
				      .code = true };
	struct cp_cfi_table *t;

	m.start -= UINT64_C(1) << 30;
	cp_cfi_build_release(cp_cfi_build(&m, &place, false));
	m.hdr = 0;
	t = cp_cfi_build(&m, &place, false);
	for (uint64_t i = 1; t && i < t->count; i++)
		if (t->entries[i - 1].start > t->entries[i].start)
			abort();
	cp_cfi_build_release(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cp_cfi_module m = { 0 };
	uint8_t *copy;

	if (size <= CHOICES)
		return 0;
	copy = malloc(size - CHOICES);
	if (!copy)
		return 0;
	memcpy(copy, data + CHOICES, size - CHOICES);
	m.start = m.hdr = m.tables = (uint64_t)(uintptr_t)copy;
	m.end = m.tables_end = m.start + size - CHOICES;
	run(&m, data);
	build(m);
	free(copy);
	return 0;
}
