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
};

/* Lists the plain files of PATH whose names end in SUFFIX, by name. */
struct ct_push_files ct_push_files_list(const char *path, const char *suffix);
void ct_push_files_release(struct ct_push_files *f);

/* Removes the oldest files until the others and MORE bytes are at most LIMIT bytes together.
 * Returns how many were removed. */
size_t ct_push_files_limit(const char *path, const char *suffix, uint64_t limit, uint64_t more);
void ct_push_files_remove(const char *path, const char *name);

#endif
