/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the helper that pushes; see session.h. */
#include "session/session.h"

#include <errno.h>

#include "collect/collect.h"

/* Most short processes have ended by then. */
#define AFTER_NS UINT64_C(1000000000)
/* Time until the next look whether a helper has started on a slow machine. */
#define REAP_NS UINT64_C(100000000)
/* Number of times that a helper is started if it can't ask for windows; each time later. */
#define STARTS 3
/* On a busy machine the control socket may come late; number of seconds to wait for it. */
#define TRIES 10

static unsigned starts; /* number of helpers that have not followed this process */
/* A helper whose start has not ended. In a fork child it is the parent's. */
static struct cp_helper *starting;

static void look_again(uint64_t after)
{
	cp_store_relaxed(&cp_session.push_at, cp_sys_clock_ns(CLOCK_MONOTONIC) + after);
}

void cp_push_fork_child(void)
{
	starting = NULL;
	cp_push_plan();
}

void cp_push_plan(void)
{
	starts = 0;
	cp_session.followed = false;
	cp_session.follower = 0;
	cp_session.push_tries = 0;
	cp_session.push_at = cp_session.config.push[0] ? cp_sys_clock_ns(CLOCK_MONOTONIC) + AFTER_NS
						       : UINT64_MAX;
}

uint64_t cp_push_due(void)
{
	return cp_session.config.push[0] ? cp_load_relaxed(&cp_session.push_at) : UINT64_MAX;
}

static const char *obstacle(void)
{
	if (!cp_control_socket_is_open())
		return "there is no control socket (CPROF_CONTROL=on)";
	if (cp_session.process_tree.subreaper)
		return "a profiled program would be the parent of cprof, because orphans become "
		       "its "
		       "children; start the program by cprof";
	if (!cp_helper_is_there())
		return "cprof is not found beside the library";
	return NULL;
}

struct cp_helper *cp_push_start_helper(const char *verb, const char *argument, const char *without)
{
	struct cp_helper *h = NULL;
	const char *why = obstacle();

	if (!why) {
		h = cp_helper_alone(verb, argument);
		why = h ? NULL : "cprof can't be started";
	}
	if (why && cp_session.config.verbose)
		cp_log("%s: %s", without, why);
	return h;
}

static void start_push(void)
{
	starting = cp_push_start_helper(
		"push", cp_session.config.push,
		"CPROF_PUSH: no windows are pushed, only the files at the end");
	cp_store_relaxed(&cp_session.push_at, UINT64_MAX);
	if (starting)
		look_again(0);
}

/* Has the helper that followed this process ended without a message? Another helper takes over its
 * windows (cp_consumers_take_over). */
static bool is_orphaned(void)
{
	return cp_session.followed && cp_session.follower > 0 &&
	       cp_sys2(SYS_kill, cp_session.follower, 0) == -ESRCH;
}

void cp_push_serve(void)
{
	if (cp_sys_clock_ns(CLOCK_MONOTONIC) < cp_push_due())
		return;
	if (cp_load_seqcst(&cp_session.leaving)) {
		look_again(AFTER_NS);
	} else if (starting) {
		if (!cp_helper_reap(starting)) {
			look_again(REAP_NS);
			return;
		}
		starting = NULL;
		look_again(cp_helper_watch_ns() << starts);
	} else if (!cp_control_socket_is_open() && ++cp_session.push_tries < TRIES) {
		look_again(AFTER_NS);
	} else if (cp_session.followed ? is_orphaned() : starts < STARTS) {
		starts++;
		start_push();
	} else if (cp_session.followed) {
		look_again(cp_helper_watch_ns());
	} else {
		cp_store_relaxed(&cp_session.push_at, UINT64_MAX);
	}
}

void cp_push_note_window(int follower)
{
	cp_session.followed = true;
	cp_session.follower = follower;
	starts = 0;
	if (cp_push_due() == UINT64_MAX)
		look_again(cp_helper_watch_ns());
}

bool cp_push_wants_files(void)
{
	return cp_session.config.push[0] && !cp_session.followed;
}
