/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a handler after each instruction of a piece of code, one in each round: between TRACE and
 * DONT_TRACE each instruction traps, and the handler for that does its work if stepped_comes. */
#ifndef STEPPED_H
#define STEPPED_H

#include <stdbool.h>
#include <ucontext.h>

#define STEPS_MAX 5000u
#define TRAP_FLAG 0x100
#define TRACE() __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc")
#define DONT_TRACE() __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc")

/* For the round: after which instruction, how many there were, and whether the handler ran. */
static volatile unsigned step, seen, came;

/* It is now, once in a round, which goes on without traps. */
static bool stepped_comes(void *context)
{
	ucontext_t *uc = context;

	if (seen++ != step)
		return false;
	uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	came = 1;
	return true;
}

#endif
