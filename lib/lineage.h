/* Which process writes which file: the process that was started with the variable owns
 * the name, every other writes NAME.PID.
 *
 * A program started by exec learns from a variable that our exec wrappers add to its
 * environment, and that its constructor removes before the program can see it. Where a
 * process was started without them (system, popen), its parent is looked at.
 */
#ifndef CP_LINEAGE_H
#define CP_LINEAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "config.h"

#define CP_LINEAGE_VARIABLE "_CPROF_LINEAGE"

struct cp_lineage {
	bool owner;
	bool adopted;		/* who outlives us becomes a child of a program of ours */
	unsigned sequence;	/* files that this pid wrote before its last exec */
	char base[CP_PATH_MAX]; /* directory that relative paths start from */
};

/* What this process is, from its environment, which loses our variable. In the
 * constructor, before other threads exist. */
void cp_lineage_read(struct cp_lineage *l, char **environment);

/* Make a relative path in VARIABLE of ENVIRONMENT absolute, so that it means the same to every
 * descendant, however and wherever it is started. Returns the value that is then in the
 * environment (PATH itself, where it was absolute). In the constructor. */
const char *cp_lineage_pin(const struct cp_lineage *l, char **environment, const char *variable,
			   const char *path);

/* "VARIABLE=..." for a program that this process is about to exec (PID: the process
 * that will be it, which has written SEQUENCE files; or 0 for a child). Any context. */
void cp_lineage_write(const struct cp_lineage *l, int pid, unsigned sequence, char *to,
		      size_t size);
/* The room that it takes at most. */
size_t cp_lineage_room(const struct cp_lineage *l);

#endif
