/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that the tool writes: as a whole or not at all, and never through a link that another user
 * put in their place. For write_file.c and flame_file.c.
 */
#ifndef CT_TARGET_H
#define CT_TARGET_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

struct ct_target {
	FILE *to;
	/* The file that is replaced: NAME in DIRECTORY. TEMPORARY is NULL if a device or a pipe is
	 * written to directly. */
	int directory;
	char *name, *temporary;
	bool dated;	 /* the new file is as old as the existing one */
	struct stat was; /* the existing one */
};

/* Opens PATH for writing. A file is replaced by rename; if PATH is a link, the file that it leads
 * to is replaced. A file below /dev or /proc, a character device or a pipe is written to directly.
 * The mode is 0600, or that of the replaced file if it is the user's own. Returns 0 or a negative
 * errno: -EPERM if PATH is a link or a pipe that belongs neither to the user nor to root. */
int ct_target_open(struct ct_target *t, const char *path);
/* Ends the writing; with ERROR the old file stays. Returns 0 or a negative errno, ERROR first. */
int ct_target_close(struct ct_target *t, int error);

#endif
