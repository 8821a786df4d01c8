/* A module of a profile and its debug information, found as debuggers do.
 *
 * For symbolize.c. A file is only taken when it proves to be the module's: by an equal build id,
 * or, for a module that has none, by the CRC of its debuglink.
 */
#ifndef CT_DWARF_MODULE_H
#define CT_DWARF_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ct_dwarf_segment {
	uint64_t offset, address, file_size, memory_size;
	bool code;
};

struct ct_dwarf_module {
	int image;  /* the module itself; -1: it is gone, or another file by now */
	int debug;  /* the file with DWARF; -1: none */
	bool whole; /* SEGMENTS are of the module itself, not of what strip left of it */
	struct ct_dwarf_segment *segments;
	size_t segment_count;
};

/* PATH as mapped; BUILD_ID in hex, "" if the profile has none; ROOTS: places like /usr/lib/debug,
 * NULL-ended. Asks debuginfod servers when DEBUGINFOD_URLS names some. False: there is nothing. */
bool ct_dwarf_module_open(struct ct_dwarf_module *m, const char *path, const char *build_id,
			  const char *const *roots);
void ct_dwarf_module_close(struct ct_dwarf_module *m);

/* The address, as linked, of what was mapped at ADDRESS, in a mapping of [START, LIMIT) from file
 * offset OFFSET on. False: that is in no segment. */
bool ct_dwarf_module_linked(const struct ct_dwarf_module *m, uint64_t address, uint64_t start,
			    uint64_t limit, uint64_t offset, uint64_t *to);

#endif
