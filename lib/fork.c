/* The fork handlers. The child has one thread, none of our timers, and copies of our data
 * in whatever state other threads had them: it starts empty.
 *
 * Nothing here waits for a lock that a thread of the program could hold, or not for long
 * (module_list.h).
 */
#include "fork.h"

#include <pthread.h>

#include "api.h"
#include "collect.h"
#include "cpu_timer.h"
#include "mark.h"
#include "module_list.h"
#include "process.h"
#include "session.h"
#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/cfi_module.h"
#include "sigsafe/disposition.h"
#include "sigsafe/gate.h"
#include "sigsafe/held.h"
#include "sigsafe/thread.h"
#include "signals.h"
#include "spans.h"
#include "sweep.h"
#include "threads.h"

/* Only libunwind has locks of its own, which must not be copied while held: captures that are
 * using it end first, and until the fork is over use the frame pointers. */
static bool needs_gate(void)
{
	return cp_session_active() && cp_capture_settings.unwinder == &cp_unwinder_libunwind;
}

static void before(void)
{
	cp_mark_expect(true);
	cp_cpu_timer_fork_begin();
	cp_self.gate_closed = needs_gate();
	if (cp_self.gate_closed)
		cp_gate_close();
	cp_module_list_fork_begin();
}

static void in_parent(void)
{
	cp_mark_expect(false);
	cp_module_list_fork_end();
	if (cp_self.gate_closed)
		cp_gate_open();
}

static void in_child(void)
{
	bool alone = cp_threads_alone();

	/* A destructor forked: the child's dlclose will open the gate. */
	cp_gate_fork_child(cp_self.in_dlclose);
	cp_module_list_fork_child();
	cp_cfi_modules_fork_child();
	cp_disposition_fork_child();
	cp_held_fork_child();
	cp_signals_fork_child();
	cp_collect_fork_child();
	cp_threads_fork_child();
	cp_sweep_fork_child();
	cp_spans_fork_child();
	cp_process_fork_child(alone, cp_api_fork_child());
}

void cp_fork_install(void)
{
	static uint32_t installed;

	if (!cp_load_acquire(&installed) && !cp_exchange_acqrel(&installed, 1))
		pthread_atfork(before, in_parent, in_child);
}
