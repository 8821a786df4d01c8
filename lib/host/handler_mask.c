/* SPDX-License-Identifier: BSD-3-Clause */
/* The masks of the program's handlers; see host.h. */
#include "host/host.h"

static unsigned char
	prof_added[65]; /* the profiler added SIGPROF to the mask of the signal's handler */
static bool any_prof_added;
static bool any_hides_prof;
/* The profiler removed CP_DEFERRED_MARKER from the mask of the signal's handler. */
static unsigned char marker_removed[65];

bool cp_handler_mask_is_handler(const struct sigaction *act)
{
	return act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN;
}

static bool needs_prof_blocked(int sig, const struct sigaction *act)
{
	return sig != SIGPROF && (act->sa_flags & SA_ONSTACK) && cp_handler_stack_is_useless() &&
	       sigismember(&act->sa_mask, SIGPROF) == 0;
}

static bool blocks_marker_alone(const struct sigaction *act)
{
	return sigismember(&act->sa_mask, CP_DEFERRED_MARKER) == 1 &&
	       sigismember(&act->sa_mask, SIGPROF) == 0;
}

bool cp_handler_mask_is_plain(int sig, const struct sigaction *act)
{
	return !cp_load_relaxed(&prof_added[sig]) && !cp_load_relaxed(&marker_removed[sig]) &&
	       !(cp_handler_mask_is_handler(act) &&
		 (needs_prof_blocked(sig, act) || blocks_marker_alone(act)));
}

const struct sigaction *cp_handler_mask_begin(struct cp_handler_mask *m, int sig,
					      const struct sigaction *act, bool ours)
{
	bool may = ours && act && cp_handler_mask_is_handler(act);

	m->had_prof_added = cp_load_relaxed(&prof_added[sig]);
	m->had_marker_removed = cp_load_relaxed(&marker_removed[sig]);
	m->adds_prof = may && needs_prof_blocked(sig, act);
	m->removes_marker = may && !m->adds_prof && blocks_marker_alone(act);
	if (act && cp_handler_mask_is_handler(act) &&
	    (sig == SIGPROF || m->adds_prof || sigismember(&act->sa_mask, SIGPROF) == 1))
		cp_handler_mask_hidden();
	if (!m->adds_prof && !m->removes_marker)
		return act;
	m->changed = *act;
	if (m->adds_prof) {
		sigaddset(&m->changed.sa_mask, SIGPROF);
		cp_store_relaxed(&any_prof_added, true);
	} else {
		sigdelset(&m->changed.sa_mask, CP_DEFERRED_MARKER);
	}
	return &m->changed;
}

void cp_handler_mask_end(const struct cp_handler_mask *m, int sig, bool keeps,
			 struct sigaction *old)
{
	if (old && m->had_prof_added)
		sigdelset(&old->sa_mask, SIGPROF);
	if (old && m->had_marker_removed)
		sigaddset(&old->sa_mask, CP_DEFERRED_MARKER);
	if (keeps) {
		cp_store_relaxed(&prof_added[sig], m->adds_prof);
		cp_store_relaxed(&marker_removed[sig], m->removes_marker);
	}
}

void cp_handler_mask_block_prof(int sig, struct sigaction *act)
{
	if (!needs_prof_blocked(sig, act))
		return;
	sigaddset(&act->sa_mask, SIGPROF);
	cp_store_relaxed(&prof_added[sig], true);
	cp_store_relaxed(&any_prof_added, true);
	cp_handler_mask_hidden();
}

void cp_handler_mask_hidden(void)
{
	cp_store_relaxed(&any_hides_prof, true);
}

bool cp_handler_mask_any_hides(void)
{
	return cp_load_relaxed(&any_hides_prof) || cp_load_relaxed(&cp_handler_call_blocks_prof);
}

bool cp_handler_mask_any_prof(void)
{
	return cp_load_relaxed(&any_prof_added) || cp_load_relaxed(&cp_handler_call_blocks_prof);
}
