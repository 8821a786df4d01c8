/* SPDX-License-Identifier: BSD-3-Clause */
/* Which process writes which file. The process that was started with the variable owns the name;
 * every other process writes NAME.PID.
 *
 * The exec wrappers add a variable to the environment of the new program. The constructor there
 * reads the variable and removes it before the program can see it. Where a process was started
 * without the wrappers (system, popen), its parent is examined.
 */
#ifndef CP_PROCESS_TREE_H
#define CP_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "settings/config.h"

#define CP_PROCESS_TREE_VARIABLE "_CPROF_LINEAGE"

struct cp_process_tree {
	bool owner;
	bool subreaper;		/* orphans become children of a profiled process */
	bool execed;		/* this process ran another program before */
	unsigned sequence;	/* files that this pid wrote before its last exec */
	uint64_t start_ns;	/* UTC: when this process's first program began */
	char base[CP_PATH_MAX]; /* relative paths start from this directory; "": it is gone */
};

/* Read from ENVIRONMENT what this process is, and remove the variable. Call in the constructor,
 * before other threads exist. */
void cp_process_tree_read(struct cp_process_tree *l, char **environment);

/* Return true if the parent was started with this library and with VARIABLE set. Only the parent's
 * environment at its own start counts. */
bool cp_process_tree_parent_has(const char *variable);

/* Make a relative path in VARIABLE of ENVIRONMENT absolute, so that every descendant gets the same
 * path, however and wherever it is started. Returns the value that is then in the environment (PATH
 * itself if it was absolute). Call in the constructor. */
const char *cp_process_tree_pin(const struct cp_process_tree *l, char **environment,
				const char *variable, const char *path);

/* Write "VARIABLE=..." for a program that this process is about to exec. PID is the process that
 * will become the program and has written SEQUENCE files; 0 means a child. Any context. */
void cp_process_tree_write(const struct cp_process_tree *l, int pid, unsigned sequence, char *to,
			   size_t size);
/* Return the largest size in bytes that cp_process_tree_write needs. */
size_t cp_process_tree_room(const struct cp_process_tree *l);

#endif
