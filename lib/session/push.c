/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the helper that pushes; see push.h. */
#include "session/push.h"

#include <time.h>

#include "base/atomic.h"
#include "base/log.h"
#include "base/sys.h"
#include "collect/control_socket.h"
#include "output/helper.h"
#include "session/session_state.h"

/* Most short processes have ended by then. */
#define AFTER_NS UINT64_C(1000000000)
/* On a busy machine the control socket may be late: so many seconds it is waited for. */
#define TRIES 10

void cp_push_plan(void)
{
	cp_session.followed = false;
	cp_session.push_tries = 0;
	cp_session.push_at = cp_session.config.push[0] ? cp_sys_clock_ns(CLOCK_MONOTONIC) + AFTER_NS
						       : UINT64_MAX;
}

uint64_t cp_push_due(void)
{
	return cp_session.config.push[0] ? cp_load_relaxed(&cp_session.push_at) : UINT64_MAX;
}

/* Returns why no helper can be started now, or NULL. */
static const char *obstacle(void)
{
	if (!cp_control_socket_is_open())
		return "there is no control socket (CPROF_CONTROL=on)";
	if (cp_session.process_tree.subreaper)
		return "a profiled program would be the parent of cprof, because orphans become "
		       "its "
		       "children; start the program by cprof push";
	if (!cp_helper_is_there())
		return "cprof is not found beside the library";
	return NULL;
}

void cp_push_serve(void)
{
	const char *why;

	if (cp_sys_clock_ns(CLOCK_MONOTONIC) < cp_push_due() || cp_load_seqcst(&cp_session.leaving))
		return;
	if (!cp_control_socket_is_open() && ++cp_session.push_tries < TRIES) {
		cp_store_relaxed(&cp_session.push_at, cp_sys_clock_ns(CLOCK_MONOTONIC) + AFTER_NS);
		return;
	}
	cp_store_relaxed(&cp_session.push_at, UINT64_MAX);
	why = obstacle();
	if (!why && !cp_helper_push(cp_session.config.push))
		why = "cprof can't be started";
	if (why && cp_session.config.verbose)
		cp_log("CPROF_PUSH: no windows are pushed, only the files at the end: %s", why);
}

void cp_push_note_window(void)
{
	cp_session.followed = true;
}

bool cp_push_wants_files(void)
{
	return cp_session.config.push[0] && !cp_session.followed;
}
