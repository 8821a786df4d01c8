/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the helper that serves; see session.h. */
#include "session/session.h"

#include "collect/collect.h"

/* Most short processes have ended by then. */
#define AFTER_NS UINT64_C(1000000000)
/* Time until the next look whether the helper has started. */
#define REAP_NS UINT64_C(100000000)
/* On a busy machine the control socket may come late; number of seconds to wait for it. */
#define TRIES 10

static unsigned tries;
static struct cp_helper *starting; /* the helper's start has not ended */

static void look_again(uint64_t after)
{
	cp_store_relaxed(&cp_session.serve_at, cp_sys_clock_ns(CLOCK_MONOTONIC) + after);
}

void cp_serve_plan(void)
{
	/* In a fork child, the helper is the parent's. */
	starting = NULL;
	tries = 0;
	cp_store_relaxed(&cp_session.serve_at, UINT64_MAX);
	if (cp_session.config.serve[0])
		look_again(AFTER_NS);
}

uint64_t cp_serve_due(void)
{
	return cp_session.config.serve[0] ? cp_load_relaxed(&cp_session.serve_at) : UINT64_MAX;
}

static void start_serve(void)
{
	starting = cp_push_start_helper("serve", cp_session.config.serve,
					"CPROF_SERVE: nothing is served");
	cp_store_relaxed(&cp_session.serve_at, UINT64_MAX);
	if (starting)
		look_again(0);
}

void cp_serve_start(void)
{
	if (cp_sys_clock_ns(CLOCK_MONOTONIC) < cp_serve_due())
		return;
	if (cp_load_seqcst(&cp_session.leaving)) {
		look_again(AFTER_NS);
	} else if (starting && !cp_helper_reap(starting)) {
		look_again(REAP_NS);
	} else if (starting) {
		starting = NULL;
		cp_store_relaxed(&cp_session.serve_at, UINT64_MAX);
	} else if (!cp_control_socket_is_open() && ++tries < TRIES) {
		look_again(AFTER_NS);
	} else {
		start_serve();
	}
}
