/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that asks the process, so that the screen never waits for it: windows of the modes,
 * what the process says of itself, and where its threads are.
 *
 * All functions are called by the main thread, which blocks the signals that it handles before it
 * starts this thread.
 */
#ifndef CT_LIVE_WATCH_H
#define CT_LIVE_WATCH_H

#include <stdbool.h>

#include "control/control.h"
#include "control/control_modes.h"
#include "core/model.h"

struct ct_live_watch;

/* A mode that was turned on ends by itself so many seconds after the last window, if this program
 * is killed. It is longer than the longest time between two. */
#define CT_LIVE_LEASE 90

/* What arrived. The caller takes over everything. */
struct ct_live_news {
	/* The last window of each mode that is watched, and of its companions. NULL: none. */
	struct ct_profile *profiles[CT_MODES], *companions[CT_MODES][CT_COMPANIONS];
	struct ct_profile *threads;	  /* or NULL */
	struct cp_control_message status; /* if HAS_STATUS */
	char *said;			  /* a message for the user, or NULL */
	bool has_status;
	bool ended; /* the process is gone */
	/* Modes that are watched; those of them that were turned on for that. */
	bool watched[CT_MODES], started[CT_MODES];
};

/* EVERY: seconds between two windows. SETTINGS: of modes that are turned on, or NULLs. */
struct ct_live_watch *ct_live_watch_new(int pid, double every, const char *const *settings);
/* Ends what was turned on. Returns false if the process doesn't answer within some seconds. */
bool ct_live_watch_end(struct ct_live_watch *w);

/* Readable when there are news. */
int ct_live_watch_fd(const struct ct_live_watch *w);
/* Returns false if there are none. */
bool ct_live_watch_news(struct ct_live_watch *w, struct ct_live_news *news);

/* Watches MODE from now on. */
void ct_live_watch_mode(struct ct_live_watch *w, int mode);
/* Do the news include the threads? */
void ct_live_watch_threads(struct ct_live_watch *w, bool wanted);
void ct_live_watch_every(struct ct_live_watch *w, double every);
/* The process is gone: nothing more is asked. */
void ct_live_watch_gone(struct ct_live_watch *w);

#endif
