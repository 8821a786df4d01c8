/* SPDX-License-Identifier: BSD-3-Clause */
/* perf events; see cpu.h. */
#include "modes/cpu/cpu.h"

#include "base/atomic.h"
#include "modes/cpu/signal/cpu_signal.h"
#include "base/sys.h"
#include "collect/collect.h"

const char *cp_cpu_perf_refusal(void)
{
	int err;

	return cp_perf_probe(NULL, &err);
}

int cp_cpu_perf_create(struct cp_thread *t)
{
	cp_store_relaxed(&cp_cpu_state.perf_used, 1);
	return cp_perf_event_open(&cp_cpu_of(t)->perf, t->tid, cp_cpu_timer_first(),
				  cp_cpu_state.period_ns);
}

void cp_cpu_perf_delete(struct cp_thread *t)
{
	/* Seqcst: pairs with the handler's store of BUSY and its check whether the source runs. T
	 * itself, with its signals blocked, is in no handler. */
	while (cp_load_seqcst(&cp_cpu_of(t)->perf.busy))
		cp_sys_yield();
	cp_perf_event_close(&cp_cpu_of(t)->perf);
}

bool cp_cpu_perf_has(const struct cp_thread *t)
{
	return cp_load_relaxed(&cp_cpu_of(t)->perf.pages) != NULL;
}
