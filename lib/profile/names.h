/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds functions for locations: the naming step between aggregate and encoder.
 *
 * Under the collector's lock. Each location is looked up once; a later dump names only the
 * locations added since.
 */
#ifndef CP_NAMES_H
#define CP_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/aggregate.h"
#include "base/index.h"
#include "base/arena.h"
#include "base/vec.h"

struct cp_function {
	const char *name;	 /* demangled, or unchanged, or "module+0x12" */
	const char *system_name; /* mangled */
	const char *path;	 /* of the module; NULL: synthetic, without a module */
	uint64_t start;		 /* file offset in the module */
	bool has_symbol;	 /* if false, the name is the function's place */
};

/* The result of naming for one mapping. */
struct cp_names_mapping {
	/* The errno that made its symbols or its debug file unreadable, so that names are missing;
	 * or 0. TROUBLE is for all locations, DONE_TROUBLE for those before DONE. */
	int trouble, done_trouble;
};

struct cp_names {
	struct cp_arena arena;
	struct cp_vec functions; /* struct cp_function; number 0 is unused */
	struct cp_index index;
	uint32_t done;		 /* locations before this one are named */
	uint64_t named, unnamed; /* locations with and without a symbol's name */
	/* The same numbers for locations before DONE. */
	uint64_t done_named, done_unnamed;
	bool lacking; /* memory ran out: names are missing, and the next call may find them */
	bool unread;  /* names are missing because a file could not be read */
	unsigned rereadings;	/* calls that tried such a file again */
	struct cp_vec mappings; /* struct cp_names_mapping, one per mapping */
	char *buffer;		/* holds one name during lookup */
};

void cp_names_init(struct cp_names *n);
/* Names the locations of A that have no name yet. If SYMBOLIZE is false, only the synthetic frames
 * get a function. Returns 0 or -ENOMEM. If memory suffices for everything except names, sets
 * LACKING, and the next call tries again. If a file could not be read, sets UNREAD, and some later
 * calls try again. */
int cp_names_update(struct cp_names *n, struct cp_aggregate *a, bool symbolize);
/* Returns the first mapping from FROM on whose names are missing because of its TROUBLE, or
 * CP_NO_MAPPING. */
uint32_t cp_names_unread(const struct cp_names *n, uint32_t from);
void cp_names_release(struct cp_names *n);

#endif
