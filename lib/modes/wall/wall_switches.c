/* SPDX-License-Identifier: BSD-3-Clause */
/* Switches of a thread; see wall_switches.h. */
#include "modes/wall/wall_switches.h"

#include "base/thread_file.h"
#include "modes/wall/signal/wall_thread.h"

/* Reading takes 10 to 20 us, which is as much as several visits. */
#define INTERVAL_NS 1000000000u

void cp_wall_switches_read(struct cp_thread *t, uint64_t now)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t slept, preempted, all;
	char text[2048];

	if ((w->switched && now - w->switched < INTERVAL_NS) ||
	    !cp_thread_file_status(t->tid, text, sizeof(text)) ||
	    !cp_thread_file_number(text, "\nvoluntary_ctxt_switches:\t", 10, &slept) ||
	    !cp_thread_file_number(text, "\nnonvoluntary_ctxt_switches:\t", 10, &preempted))
		return;
	all = slept - w->slept + preempted - w->preempted;
	if (all)
		w->woken = (uint32_t)((slept - w->slept) * 256 / all);
	w->slept = slept;
	w->preempted = preempted;
	w->switched = now;
}
