/* SPDX-License-Identifier: BSD-3-Clause */
/* Stops and starts the signals to a thread; see hooks.h. */
#include "hooks/hooks.h"

#include "base/atomic.h"
#include "base/sys.h"
#include "host/host.h"
#include "modes/cpu/cpu.h"
#include "modes/cpu/signal/cpu_signal.h"
#include "modes/event/event.h"
#include "modes/event/signal/event_hit.h"
#include "modes/wall/wall.h"
#include "sample/thread.h"

/* Returns the caller's record, or NULL if it has none. */
static struct cp_thread *own_record(void)
{
	struct cp_thread *t = cp_self.thread;

	/* A vfork's child has its parent's record. */
	if (!t || cp_profiled_retired() || cp_load_relaxed(&t->tid) != cp_sys_gettid())
		return NULL;
	return t;
}

bool cp_unsignalled_begin(enum cp_unsignalled_reason reason)
{
	struct cp_thread *t = own_record();
	unsigned before = t ? cp_load_relaxed(&t->unsignalled) : 0;

	if (!t || before & reason)
		return false;
	cp_store_relaxed(&t->unsignalled, (uint8_t)(before | reason));
	if (!before) {
		cp_cpu_thread_end(t);
		cp_event_control_thread_end(t);
		cp_wall_timer_disarm(t);
	}
	return true;
}

void cp_unsignalled_end(enum cp_unsignalled_reason reason)
{
	struct cp_thread *t = own_record();
	unsigned before = t ? cp_load_relaxed(&t->unsignalled) : 0;

	if (!(before & reason))
		return;
	cp_store_relaxed(&t->unsignalled, (uint8_t)(before & ~reason));
	if (before != reason)
		return;
	cp_cpu_thread_begin(t);
	cp_event_control_thread_begin(t);
	/* The modes have counted the thread already. */
	if (cp_load_relaxed(&cp_cpu_state.running))
		cp_count(CP_COUNT_THREADS, (uint64_t)-1);
	if (cp_load_relaxed(&cp_event_state.running))
		cp_count_mode(CPROF_EVENT, CP_COUNT_THREADS, (uint64_t)-1);
}
