/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of functions that unlock by a tail call; see lock_signal.h. */
#include "modes/lock/signal/lock_signal.h"

#include "sample/sample.h"
#include "unwind/signal/unwind_signal.h"

static uint64_t called_before(uint64_t ra)
{
	bool stable;
	unsigned phase = cp_gate_enter(&stable);
	uint64_t called = cp_cfi_code_called(ra, !stable);

	cp_gate_leave(phase);
	return called;
}

static void insert(struct cp_record *record, unsigned at, uint64_t pc, unsigned depth)
{
	if (record->depth < depth)
		record->depth++;
	else
		record->end = CP_UNWIND_TRUNCATED;
	for (unsigned i = record->depth - 1u; i > at; i--)
		record->pcs[i] = record->pcs[i - 1];
	record->pcs[at] = pc;
}

void cp_lock_tail_add(const struct cp_lock_unlock_call *call, struct cp_record *record,
		      unsigned depth)
{
	uint64_t caller = (uint64_t)(uintptr_t)call->caller - 1, pc;
	unsigned at = 1;

	if (!call->function)
		return;
	/* The profiler's frames come first. */
	while (at < record->depth && record->pcs[at] != caller)
		at++;
	if (at >= record->depth)
		return;
	pc = called_before(caller + 1);
	if (pc && pc != (uint64_t)(uintptr_t)call->function)
		insert(record, at, pc, depth);
}
