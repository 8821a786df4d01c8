/* The masks of the program's handlers; see handler_mask.h. */
#include "handler_mask.h"

#include "sigsafe/atomic.h"
#include "sigsafe/held.h"

static unsigned char prof_added[65]; /* SIGPROF in that signal's mask is our doing */
static bool any_prof_added;
static unsigned char witness_taken[65]; /* CP_HELD_WITNESS out of that signal's mask is, too */

bool cp_handler_mask_is_handler(const struct sigaction *act)
{
	return act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN;
}

static bool needs_prof_blocked(int sig, const struct sigaction *act)
{
	return sig != SIGPROF && (act->sa_flags & SA_ONSTACK) &&
	       sigismember(&act->sa_mask, SIGPROF) == 0;
}

static bool blocks_witness_alone(const struct sigaction *act)
{
	return sigismember(&act->sa_mask, CP_HELD_WITNESS) == 1 &&
	       sigismember(&act->sa_mask, SIGPROF) == 0;
}

const struct sigaction *cp_handler_mask_begin(struct cp_handler_mask *m, int sig,
					      const struct sigaction *act, bool ours)
{
	bool may = ours && act && cp_handler_mask_is_handler(act);

	m->had_prof_added = cp_load_relaxed(&prof_added[sig]);
	m->had_witness_taken = cp_load_relaxed(&witness_taken[sig]);
	m->adds_prof = may && needs_prof_blocked(sig, act);
	m->takes_witness = may && !m->adds_prof && blocks_witness_alone(act);
	if (!m->adds_prof && !m->takes_witness)
		return act;
	m->changed = *act;
	if (m->adds_prof) {
		sigaddset(&m->changed.sa_mask, SIGPROF);
		cp_store_relaxed(&any_prof_added, true);
	} else {
		sigdelset(&m->changed.sa_mask, CP_HELD_WITNESS);
	}
	return &m->changed;
}

void cp_handler_mask_end(const struct cp_handler_mask *m, int sig, bool keeps,
			 struct sigaction *old)
{
	if (old && m->had_prof_added)
		sigdelset(&old->sa_mask, SIGPROF);
	if (old && m->had_witness_taken)
		sigaddset(&old->sa_mask, CP_HELD_WITNESS);
	if (keeps) {
		cp_store_relaxed(&prof_added[sig], m->adds_prof);
		cp_store_relaxed(&witness_taken[sig], m->takes_witness);
	}
}

bool cp_handler_mask_any_prof(void)
{
	return cp_load_relaxed(&any_prof_added);
}
