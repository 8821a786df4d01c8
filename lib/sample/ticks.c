/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes when the program forbids the processor's counter; see sample.h. */

#include "sample/lock_clock.h"
#include "base/sys.h"

uint32_t cp_ticks_forbidden;
/* Defined here, because forbid() changes it. */
struct cp_lock_clock cp_lock_clock;

static int by_system_call(clockid_t clock, struct timespec *t)
{
	return (int)cp_sys2(SYS_clock_gettime, clock, t);
}

static void forbid(void)
{
	cp_store_seqcst(&cp_ticks_forbidden, 1);
	cp_store_seqcst(&cp_lock_clock.read, by_system_call);
	cp_lock_clock_set(0);
	cp_lock_clock_set_rough(0);
}

uint64_t cp_ticks_moment(void)
{
	uint64_t ticks = cp_ticks();

	return ticks ? ticks & ~CP_MOMENT_IS_NS
		     : cp_sys_clock_ns(CLOCK_MONOTONIC) | CP_MOMENT_IS_NS;
}

void cp_ticks_see_prctl(int option, unsigned long value)
{
	if (option == PR_SET_TSC && (int)value == PR_TSC_SIGSEGV)
		forbid();
}

void cp_ticks_ask(void)
{
	int mode = PR_TSC_ENABLE;

	if (cp_sys2(SYS_prctl, PR_GET_TSC, &mode) == 0 && mode == PR_TSC_SIGSEGV)
		forbid();
}
