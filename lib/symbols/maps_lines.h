/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of /proc/self/maps, one after the other; where /proc is not mounted, the modules that
 * the loader had when the session started (loader_maps.h). Takes no lock.
 */
#ifndef CP_MAPS_LINES_H
#define CP_MAPS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest line: a path of PATH_MAX and the columns before it. */
#define CP_MAPS_LINES_MOST 4608

/* A mapping, or a part of one. */
struct cp_maps_line {
	uint64_t start, limit, offset, device, inode;
	bool executable;
	bool deleted;	  /* only of code: its file is gone */
	const char *path; /* of code, without " (deleted)" */
	size_t path_size; /* 0: no file */
};

/* Calls TAKE with each line, whose path is valid during the call. BUFFER has SIZE bytes, more than
 * CP_MAPS_LINES_MOST. Returns 0 or a negative errno; then some lines may have been taken. */
int cp_maps_lines_read(char *buffer, size_t size, void (*take)(struct cp_maps_line *l, void *arg),
		       void *arg);

#endif
