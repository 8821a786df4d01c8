/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a directory whose names begin with a time, oldest first. For push_spool.c and
 * push_directory.c.
 */
#ifndef CT_PUSH_FILES_H
#define CT_PUSH_FILES_H

#include <stddef.h>
#include <stdint.h>

struct ct_push_files {
	struct ct_push_file {
		char *name;
		uint64_t size;
	} * items;
	size_t count, room;
	uint64_t bytes; /* of all files, with those that aren't in the list */
};

/* Lists the plain files of PATH whose names end in SUFFIX, by name. */
struct ct_push_files ct_push_files_list(const char *path, const char *suffix);
void ct_push_files_release(struct ct_push_files *f);

/* Removes the oldest files, a few thousand at most, until the others are at most LIMIT bytes
 * together. Returns how many bytes are left. */
uint64_t ct_push_files_limit(const char *path, const char *suffix, uint64_t limit);
void ct_push_files_remove(const char *path, const char *name);

#endif
