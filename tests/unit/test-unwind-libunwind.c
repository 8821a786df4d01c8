/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk through libunwind. */
#include "unwind-chains.h"

#include <dlfcn.h>

static void test_backtrace_stays_the_hosts(void)
{
	Dl_info info;

	CHECK(dladdr(dlsym(RTLD_DEFAULT, "backtrace"), &info));
	/* A sanitizer's runtime has one of its own. */
	CHECK(strstr(info.dli_fname, "libc.so") || strstr(info.dli_fname, "libasan"));
	CHECK(!dlsym(RTLD_DEFAULT, "unw_backtrace"));
}

static void test_without_own_tls_falls_back(void)
{
	struct cp_unwind_input in = { .regs.r[CP_REG_PC] = 1234 };
	enum cp_unwind_end end;
	uint64_t pcs[4];

	CHECK_EQ(unwinder->walk(&in, pcs, 4, &end), 1);
	CHECK_EQ(pcs[0], 1234);
}

int main(void)
{
	int err;

	unwinder = &cp_unwinder_libunwind;
	err = unwinder->prepare();
	if (err) {
		printf("1..0 # SKIP libunwind is not here: %s\n", strerror(-err));
		return 77;
	}
	CHECK_EQ(unwinder->prepare(), 0);
	RUN(test_backtrace_stays_the_hosts);
	RUN(test_without_own_tls_falls_back);
	RUN(test_plain_chain);
	RUN(test_chain_through_alloca_and_big_frames);
	RUN(test_chain_through_busy_and_realigned_frames);
	RUN(test_deep_recursion);
	RUN(test_depth_limit_cuts_the_outermost);
	RUN(test_unknown_stack_bounds);
	RUN(test_thread_start_completes);
	RUN(test_coroutine_stack);
	RUN(test_signal_frame_is_crossed);
	RUN(test_signal_stack_is_left);
	RUN(test_garbage_registers_never_fault);
	unwinder->modules_changed();
	RUN(test_plain_chain);
	return harness_end();
}
