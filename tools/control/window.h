/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of a running process: what happened in one mode since it was last asked for. For `cprof
 * record`, serve and push.
 *
 *     struct ct_window *w;
 *     struct ct_window_taken t;
 *     char *why;
 *
 *     if (ct_window_open(&w, pid, &(struct ct_window_how){ .mode = "cpu", .lease = 60 }, &why))
 *         ... say WHY
 *     ... later, and as often as wanted:
 *     switch (ct_window_take(w, &t, &why)) ...
 *     ct_window_taken_release(&t);
 *     ...
 *     ct_window_close(w);
 *
 * A mode that is off is turned on for the window, without a file of its own, and off again at the
 * close of the last window that anybody has of it. A mode that is on goes on as it is. A window
 * costs the process in proportion to what happened in it. Not thread-safe: a window is for one
 * thread at a time; several threads may have a window each.
 */
#ifndef CT_WINDOW_H
#define CT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "control/control_modes.h"
#include "core/model.h"

struct ct_window;

/* As the process knows a window: whoever has this goes on with it, also another program. */
struct ct_window_id {
	uint64_t consumer; /* a random number, not 0 */
	/* The end of the last take as the process counts time, of the mode and of its companions;
	 * 0: nothing was taken yet. CT_WINDOW_ALL: the first take has all since the mode's start.
	 */
	uint64_t since[1 + CT_COMPANIONS];
};

#define CT_WINDOW_ALL UINT64_C(1)

/* Draws the number of a new window. */
struct ct_window_id ct_window_id_new(void);

struct ct_window_how {
	const char *mode;    /* "cpu", "wall", "heap", "lock", "io", "event" */
	const char *setting; /* its rate, interval or threshold; NULL or "": the default. A mode
				that is on keeps its own */
	double lease;	     /* seconds, above 0: a mode that was turned on for this window ends by
				itself so long after the last take, if this program is killed. So it
				is longer than the time between two takes */
	bool from_start;     /* of a mode that is on, the first take has all since its start */
	bool empty;	     /* companions with nothing in them are wanted, too */
	const char *only;    /* of the companions, only the one of this name is wanted, if there is
				one: the process isn't asked for the others. NULL: all */
	/* NULL: of its own. Otherwise the window goes on if something was taken, and each take
	 * changes it. */
	struct ct_window_id *id;
	double patience; /* the least lease for a mode that was on with a file of its own */
	bool holds;	 /* nothing will be taken: a mode without a file stays on for the lease, and
			    keeps all that it has seen since its start */
};

/* What happened since the last take, or since the open. The profiles' time_nanos and duration_nanos
 * are those of the window. Both are symbolized as the process can: functions, without lines.
 *
 * What is of a moment is that of the window's end (ct_model_is_of_moment). heap: alloc_* are the
 * window's, inuse_* what is in use now; peak: total_* are the window's, peak_* what was in use at
 * the highest point since the mode's start. Memory from before the mode was turned on is never
 * known. */
struct ct_window_taken {
	struct ct_profile *profile; /* NULL: none; see the results */
	/* Those of the mode (control_modes.h). NULL: the mode has none there, it isn't wanted (see
	 * ONLY), or nothing is in it (see EMPTY). */
	struct ct_profile *companions[CT_COMPANIONS];
	bool ending; /* the process has written its files: it is about to end */
};

enum ct_window_result {
	CT_WINDOW_OK, /* also of what the process did before it executed another program */
	/* The process is gone, and has sent no more. At its end it sends what the mode has seen
	 * since the last take, and the next take has that. No profile. */
	CT_WINDOW_ENDED,
	/* The process lives, but the mode was turned off meanwhile, or it has executed another
	 * program. No profile: what it had sent was returned by the take before this one. */
	CT_WINDOW_STOPPED,
	/* This time there is no answer, for the reason in *WHY; the next take may succeed, and has
	 * what this one would have had. No profile. */
	CT_WINDOW_FAILED,
};

/* Returns 0; or a negative errno with *WHY, a message for the user that says what to do, which the
 * caller frees. -EUSERS: too many others have windows of the mode. */
int ct_window_open(struct ct_window **w, int pid, const struct ct_window_how *how, char **why);
/* *WHY is set, and to be freed, with every result but CT_WINDOW_OK. Waits for the process for ten
 * seconds at most. */
enum ct_window_result ct_window_take(struct ct_window *w, struct ct_window_taken *to, char **why);
/* Takes only what the process has sent by itself, at its end or before an exec, and asks it for
 * nothing. Returns whether it has sent a window of the mode; if not, TO is empty. Doesn't wait. */
bool ct_window_take_sent(struct ct_window *w, struct ct_window_taken *to);
void ct_window_taken_release(struct ct_window_taken *t);
/* Turns away strangers who connect where the process sends its last window, so that it gets
 * through. To be called from time to time between takes; doesn't wait. */
void ct_window_turn_away(struct ct_window *w);
/* Turns a mode off that was turned on for a window, unless another window is open. NULL is fine. */
void ct_window_close(struct ct_window *w);
/* Leaves the window open for whoever goes on with it within the lease, whose seconds it returns; 0:
 * the process knows of none. */
double ct_window_leave(struct ct_window *w);
/* Closes a window that was left. */
void ct_window_end(int pid, const char *mode, uint64_t consumer);

/* Returns whether the mode was on before the window was opened. */
bool ct_window_was_on(const struct ct_window *w);

#endif
