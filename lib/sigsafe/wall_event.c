/* A running thread's sample for the wall clock; see wall_event.h. */
#include "sigsafe/wall_event.h"

#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/counters.h"
#include "sigsafe/cpu_event.h"
#include "sigsafe/thread.h"

uint32_t cp_wall_running;
uint32_t cp_wall_ended;

bool cp_wall_event(const siginfo_t *si, const ucontext_t *uc)
{
	uint64_t value = (uint64_t)(uintptr_t)si->si_value.sival_ptr;
	struct cp_event e = { .mode = CP_MODE_WALL };
	struct cp_thread *t;
	struct cp_regs regs;

	if (si->si_code != SI_TIMER || (value & CP_CPU_TAG_MASK) != CP_WALL_TAG)
		return false;
	t = cp_thread_at((uint32_t)(value & ~CP_CPU_TAG_MASK));
	/* After a stop, or from a timer deleted since: inert. */
	if (!cp_load_relaxed(&cp_wall_running) || !t ||
	    cp_load_relaxed(&t->wall.timer) != si->si_timerid || cp_load_relaxed(&t->paused))
		return true;
	cp_count_mode(CP_MODE_WALL, CP_COUNT_SIGNALS, 1);
	/* What it weighs is the pacer's to say: it knows since when the thread ran. */
	e.tag = ++t->wall.samples;
	cp_regs_of_context(&regs, uc);
	cp_capture(t, &e, &regs);
	return true;
}
