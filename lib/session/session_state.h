/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the profiler; private to session.c, session_start.c, runs.c, window.c and
 * process.c. */
#ifndef CP_SESSION_STATE_H
#define CP_SESSION_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "settings/config.h"
#include "settings/process_info.h"
#include "host/process_tree.h"
#include "output/run.h"

struct cp_session {
	/* Written in every process, so they lie together (base/start_data.h). */
	bool process_tree_known;
	bool ending;   /* the last files are written, or are being written */
	bool finished; /* the helper has the files: they aren't written again */
	struct cp_process_tree process_tree;
	struct cp_process_info facts;
	struct cp_config config;
	struct cp_modules modules; /* shared by all runs */
	struct cp_run runs[CP_MODES];
	/* CPUPROFILE and the other variables as the process's descendants have them; NULL = not
	 * set */
	const char *shared[CP_MAIN_MODES];
	unsigned windows; /* how often the session was toggled on */
	/* LEAVING: threads on their way into execve or out of the process. They end the collector
	 * wherever it is, so the collector begins no file meanwhile. PUT_OFF: the requests that
	 * came meanwhile; they are served if the process goes on. */
	uint32_t leaving, put_off;
	uint64_t until[CP_MAIN_MODES]; /* monotonic ns: a mode ends then; 0 = it doesn't */
	uint64_t push_at;	  /* monotonic ns: the push's helper is started; UINT64_MAX = it
				     isn't, or was */
	uint64_t serve_at;	  /* the same of the server's helper */
	unsigned push_tries;	  /* how often there was no control socket yet */
	int follower;		  /* the process id of that helper; 0 = not known */
	bool followed;		  /* a helper pushes windows of this process, and its end */
	uint64_t next_checkpoint; /* monotonic ns; UINT64_MAX = none */
};

extern struct cp_session cp_session; /* runs.c */

/* For cp_collect_init. */
struct cp_collect_work;
extern const struct cp_collect_work cp_session_in_collector; /* session.c */

#endif
