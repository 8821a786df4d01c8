/* Functions for locations: the naming step between aggregate and encoder.
 *
 * Under the collector's lock. Each location is looked up once; a later dump only
 * names what came in since.
 */
#ifndef CP_NAMES_H
#define CP_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregate.h"
#include "index.h"
#include "sigsafe/pages.h"

struct cp_function {
	const char *name;	 /* demangled, or as it is, or "module+0x12" */
	const char *system_name; /* mangled */
	const char *path;	 /* of the module; NULL: synthetic, in none */
	uint64_t start;		 /* file offset in the module */
	bool has_symbol;	 /* else it is called after its place */
};

/* What became of a mapping's names. */
struct cp_names_mapping {
	bool has_functions; /* a symbol named something in it */
	/* Why its symbols, or its debug file's, could not be read, and names are missing; or 0. Of
	 * all locations, and of those before DONE. */
	int trouble, done_trouble;
};

struct cp_names {
	struct cp_arena arena;
	struct cp_vec functions; /* struct cp_function; number 0 is unused */
	struct cp_index index;
	uint32_t done;		 /* locations before this one are named */
	uint64_t named, unnamed; /* locations with a symbol's name, and without */
	/* Of those before DONE. */
	uint64_t done_named, done_unnamed;
	bool lacking;		/* memory ran out: names are missing that may come next time */
	bool unread;		/* so they are because a file could not be read */
	unsigned rereadings;	/* calls that were made for such a file */
	struct cp_vec mappings; /* struct cp_names_mapping, as many as there are mappings */
	char *buffer;		/* of one name, while names are looked up */
};

void cp_names_init(struct cp_names *n);
/* Name the locations of A that aren't yet; without symbols when SYMBOLIZE is false:
 * then only the synthetic frames get a function. 0 or -ENOMEM. Where there is memory for all but
 * names LACKING is set, and the next call tries again; so do some, where UNREAD is. */
int cp_names_update(struct cp_names *n, struct cp_aggregate *a, bool symbolize);
/* The first mapping from FROM on whose names are missing because of its TROUBLE; CP_NO_MAPPING:
 * none. */
uint32_t cp_names_unread(const struct cp_names *n, uint32_t from);
void cp_names_release(struct cp_names *n);

#endif
