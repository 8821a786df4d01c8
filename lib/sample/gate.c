/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts captures in flight; see sample.h. */
#include "sample/sample.h"

#include "base/sys.h"

static uint32_t phase;	      /* the low bit selects the counter */
static uint32_t in_flight[2]; /* captures that began in each phase */
uint32_t cp_gate_closed;      /* callers between close and open */
static uint32_t openings;
static uint32_t flipping; /* one waiter flips the phase at a time */

/* A capture takes microseconds; a waiter yields this often only if the capture's thread is
 * preempted. After that the waiter sleeps, each time a little longer. The preempted thread may
 * have to run on the processor where a real-time thread waits, and such a thread yields only to
 * threads of its priority. */
#define YIELDS 64u
#define NAP_NS 20000
#define LONGEST 50u /* NAP_NS times this is the longest nap */

unsigned cp_gate_enter(bool *stable)
{
	for (;;) {
		unsigned p = cp_load_seqcst(&phase);

		/* Sequentially consistent with the store to cp_gate_closed in cp_gate_close and
		 * the read of in_flight in cp_gate_wait: either this capture sees the gate closed,
		 * or the waiter sees this capture in flight. */
		cp_add_seqcst(&in_flight[p & 1], 1);
		if (cp_load_seqcst(&phase) == p) {
			*stable = cp_load_seqcst(&cp_gate_closed) == 0;
			return p;
		}
		cp_add_seqcst(&in_flight[p & 1], (uint32_t)-1);
	}
}

void cp_gate_leave(unsigned p)
{
	cp_add_seqcst(&in_flight[p & 1], (uint32_t)-1);
}

static void pass_time(unsigned *yields)
{
	struct timespec nap = { 0, NAP_NS };

	if (++*yields <= YIELDS) {
		cp_sys_yield();
		return;
	}
	nap.tv_nsec *= *yields - YIELDS < LONGEST ? *yields - YIELDS : LONGEST;
	cp_sys2(SYS_nanosleep, &nap, NULL);
}

void cp_gate_close(void)
{
	cp_add_seqcst(&cp_gate_closed, 1);
	cp_gate_wait();
}

void cp_gate_wait(void)
{
	uint32_t free = 0;
	unsigned old, yields = 0;

	while (!cp_cas_acqrel(&flipping, &free, 1)) {
		free = 0;
		pass_time(&yields);
	}
	old = cp_add_seqcst(&phase, 1);
	while (cp_load_seqcst(&in_flight[old & 1]))
		pass_time(&yields);
	cp_store_release(&flipping, 0);
}

void cp_gate_open(void)
{
	cp_add_seqcst(&openings, 1);
	cp_add_seqcst(&cp_gate_closed, (uint32_t)-1);
}

uint32_t cp_gate_openings(void)
{
	return cp_load_seqcst(&openings);
}

void cp_gate_fork_child(unsigned still)
{
	in_flight[0] = in_flight[1] = 0;
	cp_gate_closed = still;
	flipping = 0;
}
