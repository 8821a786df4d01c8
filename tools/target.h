/* Files that the tool writes: as a whole or not at all, and never through what somebody else put
 * in their place. For write_file.c, flame_file.c and dump.c.
 */
#ifndef CT_TARGET_H
#define CT_TARGET_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

struct ct_target {
	FILE *to;
	/* Of the file that is replaced: in DIRECTORY, NAME; TEMPORARY is NULL where there is none,
	 * because a device or pipe is written to. */
	int directory;
	char *name, *temporary;
	bool over;	 /* only over the very file that is described by... */
	struct stat was; /* ...this: its mode and owner stay */
};

/* PATH is replaced by rename; where it is a link, what that leads to. What is below /dev and /proc,
 * a character device or a pipe is written to directly. Mode 0600, or that of a file of one's own
 * that is replaced. 0 or a negative errno: -EPERM for a link or a pipe in PATH's place that belongs
 * neither to us nor to root. */
int ct_target_open(struct ct_target *t, const char *path);
/* NAME in DIRECTORY, which is WAS: another file there by then is left alone, -ESTALE. */
int ct_target_open_over(struct ct_target *t, int directory, const char *name,
			const struct stat *was);
/* With ERROR the file stays as it was. 0 or a negative errno, ERROR first. */
int ct_target_close(struct ct_target *t, int error);

#endif
