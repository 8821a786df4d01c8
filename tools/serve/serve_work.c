/* SPDX-License-Identifier: BSD-3-Clause */
/* The work of one request; see serve.h. */
#include "control/control.h"
#include "serve/serve.h"

void ct_serve_work(const struct ct_serve_request *r, struct ct_serve_out *out)
{
	/* Any process has files in /proc, which this user may read and others may not. */
	bool of_proc = r->route.what == CT_SERVE_CMDLINE || r->route.what == CT_SERVE_SYMBOL ||
		       r->route.what == CT_SERVE_THREADCREATE;

	if (r->route.pid && r->route.what != CT_SERVE_STOP &&
	    !ct_serve_processes_has(r->only, r->route.pid, of_proc)) {
		ct_serve_reply_fail(out, 404,
				    r->only->asked ? "process %d doesn't ask to be served here"
						   : "process %d does not answer",
				    r->route.pid);
		return;
	}
	switch (r->route.what) {
	case CT_SERVE_HOME: ct_serve_list_home(r, out); break;
	case CT_SERVE_TARGETS: ct_serve_list_targets(r, out); break;
	case CT_SERVE_METRICS: ct_serve_metrics(r, out); break;
	case CT_SERVE_RESOLVE: ct_serve_list_resolve(r, out); break;
	case CT_SERVE_INDEX: ct_serve_process_index(r, out); break;
	case CT_SERVE_CMDLINE: ct_serve_process_cmdline(r, out); break;
	case CT_SERVE_SYMBOL: ct_serve_process_symbol(r, out); break;
	case CT_SERVE_THREADCREATE: ct_serve_process_threadcreate(r, out); break;
	case CT_SERVE_THREADS: ct_serve_threads(r, out); break;
	case CT_SERVE_PROFILE:
	case CT_SERVE_FLAME: ct_serve_profile(r, out); break;
	case CT_SERVE_STOP:
		ct_window_end(r->route.pid, r->window->mode, r->window->id.consumer);
		ct_serve_reply_set(out->reply, 200, CT_SERVE_PLAIN, "");
		break;
	case CT_SERVE_NOTHING:
	case CT_SERVE_MOVED: break;
	}
}
