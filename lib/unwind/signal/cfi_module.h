/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the module that contains an address, and its unwind table.
 *
 * Two halves: the search runs in handlers and takes no lock; the control half
 * (lib/unwind/cfi_modules.c) runs before the first walk and when modules change. glibc from 2.35 on
 * answers the search itself (_dl_find_object: lock-free, made for unwinders). Elsewhere a snapshot
 * of the modules, sorted by address, is searched.
 */
#ifndef CP_CFI_MODULE_H
#define CP_CFI_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

/* One function's place in a table, relative to the table's base. */
struct cp_cfi_entry {
	int32_t start, fde;
};

/* A table built by lib/unwind/cfi_build.c, in own pages, for a module whose linker wrote no table,
 * or no sorted one. */
struct cp_cfi_table {
	size_t bytes; /* of the whole mapping */
	uint64_t base, count;
	struct cp_cfi_entry entries[];
};

struct cp_cfi_module {
	uint64_t start, end; /* all its segments: [start, end); only one segment if there are holes
				between them */
	uint64_t hdr; /* address of .eh_frame_hdr, in [tables, tables_end); 0 = the module has none
		       */
	uint64_t tables, tables_end;	  /* the mapped range around .eh_frame_hdr and .eh_frame */
	const struct cp_cfi_table *built; /* used instead of HDR; NULL = no such table */
	/* Results that searches cached to speed up later ones; 0 = unknown yet. For a lasting
	 * module any thread writes them, and all threads write the same values. */
	uint32_t entries;   /* number of entries of HDR's table, if that table can be searched */
	uint32_t usual_cie; /* offset from TABLES of the CIE that most functions have */
};

/* Sorted by start; never changed once published. */
struct cp_cfi_snapshot {
	size_t count, bytes; /* bytes: of the whole mapping */
	struct cp_cfi_module modules[];
};

/* The part of glibc's struct dl_find_object that is the same on all ports, and room for the rest.
 */
struct cp_cfi_dlfo {
	unsigned long long flags;
	void *map_start, *map_end, *link_map, *eh_frame;
	unsigned long long rest[11];
};

#define CP_CFI_LASTING 2

/* Only the control half writes this struct; it stores SNAPSHOT with release. */
extern struct cp_cfi_finder {
	int (*find)(void *addr, struct cp_cfi_dlfo *result); /* NULL: the snapshot is used */
	/* All modules, or, if FIND is set, only those with a table of our own. NULL: no modules. */
	struct cp_cfi_snapshot *snapshot;
	uint32_t missed; /* a handler has found no module, or no table, for an address */
	/* The program's segment that contains .eh_frame_hdr. The kernel, unlike the loader, leaves
	 * holes between segments (ports with large pages), and glibc then answers with one segment.
	 */
	uint64_t main_tables, main_tables_end;
	/* Modules that stay until the end: the program and libc. Those that have a table and no
	 * holes are found here at once. HDR is 0 in the others. */
	struct cp_cfi_module lasting[CP_CFI_LASTING];
} cp_cfi_finder;

/* Returns the lasting module that contains PC. NULL doesn't mean that no module contains PC. */
static inline struct cp_cfi_module *cp_cfi_lasting(uint64_t pc)
{
	for (unsigned i = 0; i < CP_CFI_LASTING; i++) {
		struct cp_cfi_module *m = &cp_cfi_finder.lasting[i];

		if (pc - m->start < m->end - m->start)
			return m;
	}
	return NULL;
}

/* Finds the module that contains PC. Returns false, and leaves *M alone, if no module does. */
bool cp_cfi_module_find(uint64_t pc, struct cp_cfi_module *m);

/* Called when a handler found no module or no table: asks the control half to look. */
static inline void cp_cfi_module_missed(void)
{
	if (!cp_load_relaxed(&cp_cfi_finder.missed))
		cp_store_relaxed(&cp_cfi_finder.missed, 1);
}

/* Control half. Ordinary context, no walk in progress. Returns 0 or -ENOMEM. */
int cp_cfi_modules_prepare(void);
void cp_cfi_modules_refresh(void);
/* Called on the collector's thread about once a second: looks for newly loaded modules if a handler
 * missed one. Takes none of the program's locks. */
void cp_cfi_poll(void);
/* Call in a fork child. */
void cp_cfi_modules_fork_child(void);

#endif
