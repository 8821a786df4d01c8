/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the executable mapping that an address belongs to, even after the mapping went away.
 *
 * Reads /proc/self/maps, not the loader's list, so it doesn't take the loader's lock: a thread that
 * holds that lock may be waiting for libcprof. The drain and the dump use this, one thread at a
 * time (the collector's lock). A mapping that vanished keeps its number.
 */
#ifndef CP_MODULES_H
#define CP_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "symbols/symbols.h"

#define CP_NO_MAPPING UINT32_MAX

struct cp_mapping {
	uint64_t start, limit, offset; /* [start, limit); file offset of start */
	uint64_t device, inode;
	uint64_t image;	      /* where the module's first byte is mapped; 0 = unknown */
	uint64_t image_limit; /* end of the memory that is mapped from its file */
	uint64_t seen;	      /* number of the newest reading that contained it */
	const char *path;     /* without " (deleted)"; "//anon" if there is no file */
	uint8_t build_id[CP_BUILD_ID_MAX];
	uint8_t build_id_size;
	bool identified; /* the build id has been looked for */
	bool live;	 /* in the newest reading */
	bool ours;	 /* the mapping is libcprof's code */
	bool main;	 /* the program's executable */
	bool anonymous;	 /* no file: JIT code, "//anon", "[vdso]" */
	bool vdso;
	bool kernel;   /* the kernel's code, all of it: "[kernel.kallsyms]" */
	bool deleted;  /* another file is at PATH now, or none */
	bool self_exe; /* /proc/self/exe is its file, deleted or not */
};

struct cp_modules {
	struct cp_arena names;
	struct cp_vec mappings;	 /* struct cp_mapping, never removed */
	struct cp_vec live;	 /* uint32_t, sorted by start */
	struct cp_vec next_live; /* the reading in progress */
	char *buffer;		 /* for reading */
	uint64_t readings;
	bool stale;	  /* cp_modules_want reads the list again */
	uint64_t loads;	  /* the loader's count of loads when this list had all loaded modules; 0 =
			     never */
	int error;	  /* of the newest reading */
	bool uring;	  /* a reading has shown a ring of io_uring */
	uint64_t context; /* where an OpenTelemetry SDK publishes its resource; 0 = nowhere:
			     output/process_context.h */
};

void cp_modules_init(struct cp_modules *m);
/* Read the list anew. Returns 0, or a negative errno; then the old list stays. */
int cp_modules_refresh(struct cp_modules *m);
/* Read the list anew if STALE is set, at most once after each time that it was set: new rows need
 * the modules, and most drains make no new row. */
void cp_modules_want(struct cp_modules *m);
/* Returns the number of the mapping that contains PC: a live mapping, else the mapping that
 * contained PC and went away last. */
uint32_t cp_modules_find(const struct cp_modules *m, uint64_t pc);
struct cp_mapping *cp_modules_at(const struct cp_modules *m, uint32_t number);
/* Returns the number of the mapping that represents the kernel's code, or CP_NO_MAPPING if there is
 * no memory. */
uint32_t cp_modules_kernel(struct cp_modules *m);
/* Is PC, which no mapping contains, a kernel address? */
bool cp_modules_is_kernel(uint64_t pc);
/* Read the mapping's build id. Call while the module is still mapped. */
void cp_modules_identify(struct cp_mapping *mapping);
void cp_modules_release(struct cp_modules *m);

#endif
