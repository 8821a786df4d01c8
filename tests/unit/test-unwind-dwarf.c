/* The walk by call frame information. */
#include "unwind-chains.h"

int main(void)
{
	unwinder = &cp_unwinder_dwarf;
	CHECK_EQ(unwinder->prepare(), 0);
	for (int round = 0; round < 2; round++) { /* cold, then by the cache */
		RUN(test_plain_chain);
		RUN(test_chain_through_alloca_and_big_frames);
		RUN(test_chain_through_busy_and_realigned_frames);
		RUN(test_deep_recursion);
		RUN(test_depth_limit_cuts_the_outermost);
		RUN(test_unknown_stack_bounds);
		RUN(test_thread_start_completes);
		RUN(test_coroutine_stack);
		RUN(test_garbage_registers_never_fault);
	}
	unwinder->modules_changed();
	RUN(test_plain_chain);
	return harness_end();
}
