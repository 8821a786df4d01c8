/* A command that runs in our place: it gets our signals, we its end. For run.c. */
#ifndef CT_RUN_COMMAND_H
#define CT_RUN_COMMAND_H

#include <stdbool.h>

struct ct_ended {
	int status; /* as waitpid gives it */
	int error;  /* of exec; 0: it ran */
	bool by_us; /* it was told to end, when its time was over */
};

/* Run PROGRAM with ARGV and SETTINGS ("NAME=VALUE", NULL-ended) added to our environment, for
 * SECONDS at most (0: until it ends); then it gets SIGTERM, and SIGKILL if it goes on. Signals to
 * us alone are passed on; those that the terminal sends reach it anyway. 0, or a negative errno: it
 * could not be tried. */
int ct_run_command(const char *program, char *const argv[], char *const settings[], double seconds,
		   struct ct_ended *end);
/* End as the command did: the exit status, or by the same signal. */
int ct_run_end_like(const struct ct_ended *end);

#endif
