/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out, from outside, by which signal a process under libcprof dumps, and to which file. For
 * dump.c.
 */
#ifndef CT_DUMP_PROCESS_H
#define CT_DUMP_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "control/control_modes.h"

struct ct_dump_place {
	const char *mode;
	char *directory; /* for messages */
	int fd;		 /* descriptor of the directory; or -1 */
	char *pattern;	 /* for fnmatch: names of the dumps */
};

struct ct_dump_process {
	int pid, signal;
	int only; /* the only mode to dump, in the order of ct_dump_process_is_mode's; -1: all modes
		     that are on */
	int process;  /* pidfd, so that another process with the same number is not signalled; -1:
			 the kernel is too old */
	uid_t user;   /* owner of the dumps */
	char *toggle; /* CPUPROFILESIGNAL, which turns the CPU profile on and off; or NULL */
	struct ct_dump_place places[CT_MODES];
	unsigned count;
};

bool ct_dump_process_is_mode(const char *mode);
/* MODE: only that mode; NULL: all modes that are on. Returns NULL, or the reason why the process
 * can't be asked, which the caller frees. */
char *ct_dump_process_open(struct ct_dump_process *d, int pid, const char *mode);
/* Returns 0, or -1 with errno set. */
int ct_dump_process_signal(const struct ct_dump_process *d, int signal);
void ct_dump_process_close(struct ct_dump_process *d);

#endif
