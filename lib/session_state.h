/* What the profiler is doing; private to session.c, session_start.c, runs.c,
 * window.c and process.c.
 */
#ifndef CP_SESSION_STATE_H
#define CP_SESSION_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "facts.h"
#include "lineage.h"
#include "run.h"

struct cp_session {
	struct cp_config config;
	struct cp_lineage lineage;
	struct cp_facts facts;
	struct cp_modules modules; /* of all runs */
	struct cp_run runs[CP_MODES];
	uint32_t active; /* between start and stop; read from any context */
	int pid;	 /* of the process that it is active in */
	bool lineage_known;
	bool finished; /* the helper has our files: they aren't written again */
	/* CPUPROFILE and the others as our descendants have them; NULL = not set */
	const char *shared[CP_MAIN_MODES];
	unsigned windows; /* toggled on so often */
	/* Threads on their way into execve or out of the process, which end the collector wherever
	 * it is: it writes no file meanwhile. What it was asked for is done when nothing came of
	 * it.
	 */
	uint32_t leaving, put_off;
	uint64_t next_checkpoint; /* monotonic ns; UINT64_MAX = none */
};

extern struct cp_session cp_session; /* runs.c */

/* For cp_collect_init. */
struct cp_collect_work;
extern const struct cp_collect_work cp_session_in_collector; /* session.c */

#endif
