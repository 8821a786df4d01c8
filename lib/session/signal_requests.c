/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that signals make of the session; see session.h. */
#include "session/session.h"

#include "collect/collect.h"
#include "host/host.h"
#include "session/window.h"

static void dump(unsigned mode)
{
	if (cp_profiled_is_ours())
		cp_collect_request(mode < CP_MAIN_MODES ? CP_REQUEST_DUMP_OF(mode)
							: CP_REQUEST_DUMP);
}

static void toggle(void)
{
	if (!cp_profiled_is_ours())
		return;
	cp_window_note_toggle();
	cp_collect_request(CP_REQUEST_TOGGLE);
}

static void write_before_abort(void)
{
	cp_session_write("before abort", false);
}

/* Write the profiles before a fatal signal ends the process. After a crash the debugger should get
 * the process at once. A process that was asked to end still has a second for line numbers. */
static void end(bool crash)
{
	if (cp_profiled_is_ours())
		cp_session_leave();
	if (crash) {
		cp_session_write("before a fatal signal", false);
	} else {
		cp_session_finish("before a fatal signal", 1);
		cp_session_dump_asked();
	}
}

static void go_on(void)
{
	cp_session_stay();
}

const struct cp_signal_work cp_signal_requests_work = {
	.dump = dump,
	.toggle = toggle,
	.write = write_before_abort,
	.end = end,
	.go_on = go_on,
};
