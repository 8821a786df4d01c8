/* SPDX-License-Identifier: BSD-3-Clause */
/* The modes of a followed process: their windows, from the first one to what is left at the end.
 * Called by push_follow.c.
 */
#ifndef CT_PUSH_MODES_H
#define CT_PUSH_MODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/control_modes.h"
#include "control/window.h"
#include "push/push_follow.h"
#include "push/push_symbols.h"

struct ct_push_mode {
	struct ct_window *window; /* NULL: not followed */
	char *path;		  /* the file that it writes at its end, to be removed; or NULL */
	unsigned long long since; /* UTC seconds: the run of the mode */
	int64_t until_ns;	  /* end of the last window, as it is pushed */
	bool any;		  /* a window was taken */
	bool ending;		  /* the last one came when the process had written its files */
};

struct ct_push_process {
	int pid;     /* or a number below 0: a path (control.h) */
	int process; /* a pidfd; -1: it is out of sight */
	char *program, *labels;
	struct ct_push_mode modes[CT_MODES];
	bool gone;
};

/* What all windows are pushed with. */
struct ct_push_modes {
	const struct ct_push_follow_how *how;
	struct ct_push_symbols *symbols;
	size_t lost; /* windows */
};

/* The number KEY of MODE in what a process says of itself; 0: it isn't there. */
unsigned long long ct_push_modes_number(const struct cp_control_message *status, int mode,
					const char *key);
/* Opens the modes that are to be followed and aren't yet. Returns how many are followed; *WHY is
 * the reason of one that isn't. */
unsigned ct_push_modes_open(struct ct_push_modes *all, struct ct_push_process *p,
			    const struct cp_control_message *status, bool from_start, bool start,
			    char **why);
/* Takes a window of MODE. Returns false if the mode has ended. */
bool ct_push_modes_take(struct ct_push_modes *all, struct ct_push_process *p, int mode);
/* Pushes what MODE did after its last window, which the process has sent. */
void ct_push_modes_end(struct ct_push_modes *all, struct ct_push_process *p, int mode);
void ct_push_modes_close(struct ct_push_mode *m);

/* Pushes P, a profile of MODE or of a companion, with LABELS. */
void ct_push_modes_push(struct ct_push_modes *all, struct ct_profile *p, const char *mode,
			const char *labels);
/* Says TEXT if the user wants to know all; frees it. */
void ct_push_modes_say(const struct ct_push_modes *all, char *text);

#endif
