/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that signals make of the session. Every function may be called in a signal handler. */
#ifndef CP_SIGNAL_WORK_H
#define CP_SIGNAL_WORK_H

#include <stdbool.h>

struct cp_signal_work {
	/* Dump MODE; CP_MAIN_MODES: every mode that is on. */
	void (*dump)(unsigned mode);
	/* Turn the mode of CPUPROFILE on or off. */
	void (*toggle)(void);
	/* Write the profiles: abort may be about to end the process. */
	void (*write)(void);
	/* Write the profiles: a signal ends the process. CRASH: it dumps core. */
	void (*end)(bool crash);
	/* The process goes on after END. */
	void (*go_on)(void);
};

#endif
