/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame pointer walk. Built with frame pointers; see Makefile.am. */
#define OWN_MAIN
#include "unwind-chains.h"

static void test_broken_chains_end_incomplete(void)
{
	uint64_t frames[8] = { 0 };
	struct cp_unwind_input in = { .stack_low = (uint64_t)frames,
				      .stack_high = (uint64_t)(frames + 8) };
	enum cp_unwind_end end;
	uint64_t pcs[8];

	in.regs.r[CP_REG_PC] = 0x1000;
	in.regs.r[CP_REG_SP] = in.regs.r[CP_REG_FP] = (uint64_t)frames;
	frames[0] = (uint64_t)&frames[4];
	frames[1] = 0x401000;
	frames[5] = 0x402000;

	CHECK_EQ(unwinder->walk(&in, pcs, 8, &end), 3);
	CHECK_EQ(end, CP_UNWIND_COMPLETE);
	CHECK_EQ(pcs[2], 0x402000 - 1);

	frames[4] = (uint64_t)&frames[2]; /* down again */
	CHECK_EQ(unwinder->walk(&in, pcs, 8, &end), 3);
	CHECK_EQ(end, CP_UNWIND_INCOMPLETE);

	frames[4] = (uint64_t)&frames[6] + 1; /* not aligned */
	CHECK_EQ(unwinder->walk(&in, pcs, 8, &end), 3);
	CHECK_EQ(end, CP_UNWIND_INCOMPLETE);

	frames[4] = 0;
	frames[5] = 8; /* no return address */
	CHECK_EQ(unwinder->walk(&in, pcs, 8, &end), 2);
	CHECK_EQ(end, CP_UNWIND_INCOMPLETE);

	frames[5] = 0;
	CHECK_EQ(unwinder->walk(&in, pcs, 8, &end), 2);
	CHECK_EQ(end, CP_UNWIND_COMPLETE);
}

/* libc has no frame pointers, so that main's caller may be missing: only the part
 * of the chain that is ours is known. */
static void test_chain_in_main(void)
{
	chains_begin();
	chain_a(1);
	CHECK_EQ(noted_at(), 1);
	chains_begin();
	chain_deep(1000);
	CHECK_EQ(noted_at(), 1);
	chains_begin();
	chain_alloca(1000);
	CHECK_EQ(noted_at(), 1);
}

int main(void)
{
	unwinder = &cp_unwinder_fp;
	RUN(test_broken_chains_end_incomplete);
	RUN(test_chain_in_main);
	RUN(test_coroutine_stack);
	RUN(test_garbage_registers_never_fault);
	return harness_end();
}
