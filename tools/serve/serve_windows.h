/* SPDX-License-Identifier: BSD-3-Clause */
/* The windows that this server has of processes: of requests that are being answered, and of those
 * that a client goes on with (delta_*, the last minute of a flame graph). A window of which nothing
 * is taken keeps a mode on between requests for sums. The process keeps the windows of all servers
 * apart, so the end of one leaves those of others alone.
 *
 * Called by the server; a worker reads the window of its request. Times are monotonic seconds.
 */
#ifndef CT_SERVE_WINDOWS_H
#define CT_SERVE_WINDOWS_H

#include <stdbool.h>

#include "control/window.h"

/* Most windows of clients that go on with them, all together and of one mode of a process. Shared
 * ones don't count (a process has one of a mode), nor do those of processes that have ended. */
#define CT_SERVE_KEPT 1024
#define CT_SERVE_KEPT_OF_MODE 12
/* Parts of one window, their bytes, and those of all windows together. The oldest are given up. */
#define CT_SERVE_PARTS 64
#define CT_SERVE_PARTS_BYTES ((long long)16 << 20)
#define CT_SERVE_ALL_PARTS_BYTES ((long long)256 << 20)

struct ct_serve_part {
	int fd; /* a file in memory with a profile */
	double time;
	long long bytes;
};

struct ct_serve_window {
	char *key; /* NULL: of one request */
	int pid;
	const char *mode; /* of a kind: never freed */
	bool shared;	  /* of sums: several requests may have it */
	struct ct_window_id id;
	/* What was taken of it and is to be shown again. */
	struct ct_serve_part parts[CT_SERVE_PARTS];
	unsigned part_count;
	unsigned missing; /* parts that were given up since the last ct_serve_windows_drop */
	unsigned users;	  /* requests */
	double until;	  /* the process has it until then; below 0: it hasn't */
	bool ending;	  /* a worker ends it */
	struct ct_serve_window *next;
};

/* Returns whether a request that is not of sums is one too many: it would need a new window KEY,
 * and those of other clients are not ended for it. */
bool ct_serve_windows_full(const char *key, int pid, const char *mode);
/* Returns the window called KEY of MODE of process PID, or a new one, for a request. NULL: it is
 * ending, or another request has it and it is not SHARED; then try again after the next
 * ct_serve_windows_release or ct_serve_windows_ended. */
struct ct_serve_window *ct_serve_windows_take(const char *key, int pid, const char *mode,
					      bool shared);
/* The request is over. The process has the window until UNTIL, if nobody asks again; below 0: it
 * has it no longer. */
void ct_serve_windows_release(struct ct_serve_window *w, double until);

/* Puts FD, a profile that was taken now; it is closed when it is dropped. */
void ct_serve_windows_put(struct ct_serve_window *w, double now, int fd);
/* Drops the parts from before TIME. */
void ct_serve_windows_drop(struct ct_serve_window *w, double time);

/* Returns a window that is to be ended now, and that stays in the list until
 * ct_serve_windows_ended; or NULL. ALL: those that would be kept, too. */
struct ct_serve_window *ct_serve_windows_due(double now, bool all);
void ct_serve_windows_ended(struct ct_serve_window *w);
/* When the next one is due; below 0: none is. */
double ct_serve_windows_next(void);

#endif
