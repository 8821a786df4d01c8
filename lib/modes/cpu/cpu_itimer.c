/* SPDX-License-Identifier: BSD-3-Clause */
/* ITIMER_PROF; see cpu_itimer.h. */
#include "modes/cpu/cpu_itimer.h"

#include <sys/time.h>
#include <time.h>

#include "base/log.h"
#include "base/notes.h"
#include "base/atomic.h"
#include "modes/cpu/signal/cpu_event.h"
#include "base/sys.h"

static bool lost; /* lost to the program, which uses it itself */
static bool asked_for;

static void set_process_timer(uint64_t period_ns)
{
	struct timeval period = { (time_t)(period_ns / 1000000000u),
				  (long)(period_ns % 1000000000u / 1000u) };
	struct itimerval when = { period, period };

	cp_sys3(SYS_setitimer, ITIMER_PROF, &when, NULL);
}

static void say_program_has_it(void)
{
	const char *what = "the program uses ITIMER_PROF itself: threads without a timer of their "
			   "own are not sampled";

	if (!lost && asked_for)
		cp_log("%s", what);
	else
		cp_notes_note(CP_NOTE_PROCESS_TIMER, "%s", what);
	lost = true;
}

static bool is_ours(void)
{
	return cp_load_relaxed(&cp_cpu_state.process_timer) == CP_PROCESS_TIMER_OURS;
}

void cp_cpu_itimer_use(void)
{
	if (is_ours() || lost)
		return;
	if (cp_cpu_event_timer_is_armed()) {
		say_program_has_it();
		return;
	}
	cp_store_relaxed(&cp_cpu_state.process_periods,
			 cp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / cp_cpu_state.period_ns);
	cp_store_release(&cp_cpu_state.process_timer, CP_PROCESS_TIMER_OURS);
	set_process_timer(cp_cpu_state.period_ns);
}

bool cp_cpu_itimer_yield(bool wanted)
{
	bool ours = is_ours();

	if (wanted)
		cp_store_seqcst(&cp_cpu_state.process_timer, CP_PROCESS_TIMER_NONE);
	if (ours && wanted) {
		set_process_timer(0);
		say_program_has_it();
	}
	return ours;
}

void cp_cpu_itimer_prepare(bool asked)
{
	lost = false;
	asked_for = asked;
}

void cp_cpu_itimer_pause(void)
{
	if (is_ours())
		set_process_timer(0);
}

void cp_cpu_itimer_resume(void)
{
	if (is_ours())
		set_process_timer(cp_cpu_state.period_ns);
}

void cp_cpu_itimer_period_changed(uint64_t from)
{
	uint64_t to = cp_cpu_state.period_ns, now, owed;

	if (!is_ours())
		return;
	now = cp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	owed = (now / from - cp_load_relaxed(&cp_cpu_state.process_periods)) * from;
	cp_store_release(&cp_cpu_state.process_periods, now / to - owed / to);
	set_process_timer(to);
}

void cp_cpu_itimer_stop(void)
{
	if (!is_ours())
		return;
	set_process_timer(0);
	cp_store_release(&cp_cpu_state.process_timer, CP_PROCESS_TIMER_LATE);
}
