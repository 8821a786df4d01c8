/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a session in a process that ran already; see session.h. Its begin: hooks/attach.c. */
#include <errno.h>

#include "session/session.h"
#include "session/window.h"
#include "collect/collect.h"
#include "unwind/unwind.h"

static uint32_t attached;

/* A mode whose end calls functions of the program can't be ended here. */
static bool may_end(void)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MAIN_MODES; m = cp_mode_ops_after(m))
		if (cp_load_relaxed(&cp_session.runs[m].running) && cp_modes[m]->needs_thread &&
		    cp_modes[m]->needs_thread())
			return false;
	return true;
}

int cp_attached_end(void)
{
	struct cp_window_call call = { .when = "when detached" };

	if (!cp_load_acquire(&attached))
		return -ESRCH;
	if (!may_end())
		return -EOPNOTSUPP;
	if (!cp_api_change_begin())
		return -EBUSY;
	cp_collect_run(cp_window_end, &call);
	cp_worker_call(cp_imports_end);
	cp_signals_remove();
	cp_signals_give_prof_back();
	cp_profiled_set_active(false);
	cp_log_silence(false);
	cp_store_release(&attached, 0);
	cp_collect_thread_leave();
	return cp_api_change_end(0);
}

bool cp_attached(void)
{
	return cp_load_acquire(&attached) != 0;
}

void cp_attached_note(void)
{
	cp_store_release(&attached, 1);
}
