/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command in place of cprof: signals are passed on to the command, and cprof ends as the
 * command did. For run.c. */
#ifndef CT_RUN_COMMAND_H
#define CT_RUN_COMMAND_H

#include <stdbool.h>

struct ct_ended {
	int status; /* as waitpid gives it */
	int error;  /* errno of exec; 0: the command was started */
	bool by_us; /* it was told to end when its time was over */
};

/* Run PROGRAM with ARGV and with SETTINGS ("NAME=VALUE", NULL-ended) added to the environment, for
 * at most SECONDS (0: until it ends). Then it gets SIGTERM, and SIGKILL if it goes on. Signals to
 * cprof alone are passed on; the terminal's signals reach the command directly. Returns 0, or a
 * negative errno if the command could not be started. */
int ct_run_command(const char *program, char *const argv[], char *const settings[], double seconds,
		   struct ct_ended *end);
/* End as the command did: with its exit status, or by the same signal. */
int ct_run_command_end_like(const struct ct_ended *end);

#endif
