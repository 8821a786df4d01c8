/* SPDX-License-Identifier: BSD-3-Clause */
/* A module of a profile and its debug information, found as debuggers do.
 *
 * For symbolize.c. A file is used only if it proves that it belongs to the module: by an equal
 * build id or, for a module without one, by the CRC of its debuglink. It is looked for at the
 * module's path, by build id and by debuglink as debuggers do, and in each of the user's
 * directories under the module's name and under its whole path.
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
	int image;    /* the module itself; -1: it was not found, or is another build */
	int debug;    /* the file with DWARF; -1: none */
	bool packed;  /* set by the caller: DEBUG is compressed in a way that can't be unpacked */
	bool there;   /* the module's path names an ELF file, of this build or of another */
	char *denied; /* a file or directory that may not be read, or NULL */
	bool whole;   /* SEGMENTS come from the module itself, not from a debug file */
	struct ct_dwarf_segment *segments;
	size_t segment_count;
};

/* Finds a module's debug information. PATH is the path as mapped; BUILD_ID is in hex, "" if the
 * profile has none; ROOTS are directories like /usr/lib/debug, ended by NULL. Asks debuginfod
 * servers if DEBUGINFOD_URLS names some. Returns false if nothing was found; the module must be
 * closed even then, because THERE and DENIED are set. */
bool ct_dwarf_module_open(struct ct_dwarf_module *m, const char *path, const char *build_id,
			  const char *const *roots);
void ct_dwarf_module_close(struct ct_dwarf_module *m);

/* Finds the address, as linked, of the byte mapped at ADDRESS, in a mapping of [START, LIMIT) from
 * file offset OFFSET on. Returns false if that byte is in no segment. */
bool ct_dwarf_module_linked(const struct ct_dwarf_module *m, uint64_t address, uint64_t start,
			    uint64_t limit, uint64_t offset, uint64_t *to);

#endif
