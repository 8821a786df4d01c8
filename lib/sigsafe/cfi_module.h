/* Which module holds an address, and where its unwind table is.
 *
 * Two halves: the search runs in handlers and takes no lock; the control half
 * (lib/cfi_modules.c) runs before the first walk and when modules change. glibc
 * from 2.35 on answers itself (_dl_find_object: lock-free, made for unwinders);
 * elsewhere a snapshot of the modules, sorted by address, is searched.
 */
#ifndef CP_CFI_MODULE_H
#define CP_CFI_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sigsafe/atomic.h"

/* One function's place in a table, relative to the table's base. */
struct cp_cfi_entry {
	int32_t start, fde;
};

/* A table of ours (lib/cfi_build.c), in pages, for a module whose linker wrote none, or no sorted
 * one. */
struct cp_cfi_table {
	size_t bytes; /* of the whole mapping */
	uint64_t base, count;
	struct cp_cfi_entry entries[];
};

struct cp_cfi_module {
	uint64_t start,
		end;  /* all its segments: [start, end); one of them where holes are between */
	uint64_t hdr; /* .eh_frame_hdr, in the tables; 0 = it has none */
	uint64_t tables, tables_end;	  /* what is mapped around .eh_frame_hdr and .eh_frame */
	const struct cp_cfi_table *built; /* used instead of HDR; NULL = there is none */
	/* What searches have found out, where more follow; 0 = not yet. Of a module that lasts any
	 * thread writes them, all the same. */
	uint32_t entries;   /* of HDR's table, which is one that can be searched */
	uint32_t usual_cie; /* where one is that most functions have, from TABLES on */
};

/* Sorted by start; never changed once published. */
struct cp_cfi_snapshot {
	size_t count, bytes; /* bytes: of the whole mapping */
	struct cp_cfi_module modules[];
};

/* glibc's struct dl_find_object, as far as all its ports agree, and room for the rest. */
struct cp_cfi_dlfo {
	unsigned long long flags;
	void *map_start, *map_end, *link_map, *eh_frame;
	unsigned long long rest[11];
};

#define CP_CFI_LASTING 2

/* Written by the control half only, the snapshot with release. */
extern struct cp_cfi_finder {
	int (*find)(void *addr, struct cp_cfi_dlfo *result); /* NULL: the snapshot is used */
	/* All modules, or, where FIND is, those with a table of ours only. NULL: there are none. */
	struct cp_cfi_snapshot *snapshot;
	uint32_t missed; /* set by a handler: a module was not known, or had no table */
	/* The program's segment with .eh_frame_hdr: the kernel, unlike the loader, leaves
	 * holes between segments (ports with large pages), and glibc then answers with one. */
	uint64_t main_tables, main_tables_end;
	/* Modules that are there to the end: the program and libc. Those that have a table, and no
	 * holes, are found here at once; HDR is 0 in the others. */
	struct cp_cfi_module lasting[CP_CFI_LASTING];
} cp_cfi_finder;

/* That of those which holds PC; NULL says nothing. */
static inline struct cp_cfi_module *cp_cfi_lasting(uint64_t pc)
{
	for (unsigned i = 0; i < CP_CFI_LASTING; i++) {
		struct cp_cfi_module *m = &cp_cfi_finder.lasting[i];

		if (pc - m->start < m->end - m->start)
			return m;
	}
	return NULL;
}

/* The module that holds PC. False, and *M untouched, when there is none. */
bool cp_cfi_module_find(uint64_t pc, struct cp_cfi_module *m);

/* A handler found no module or no table: let the control half look, if it may be worth it. */
static inline void cp_cfi_module_missed(void)
{
	if (!cp_load_relaxed(&cp_cfi_finder.missed))
		cp_store_relaxed(&cp_cfi_finder.missed, 1);
}

/* Control half. Ordinary context, no walk in flight: 0, -ENOMEM. */
int cp_cfi_modules_prepare(void);
void cp_cfi_modules_refresh(void);
/* The collector's thread, every second or so: look for modules that came since, when a handler has
 * missed one. Takes none of the program's locks. */
void cp_cfi_modules_poll(void);
/* In a fork child. */
void cp_cfi_modules_fork_child(void);

#endif
