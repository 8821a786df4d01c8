/* Which executable mapping an address belongs to, also after it went away.
 *
 * Read from /proc/self/maps, so without the loader's lock: a thread that
 * holds it may be waiting for us. Used by the drain and the dump, one thread at a time
 * (the collector's lock). A mapping that vanished keeps its number.
 */
#ifndef CP_MODULES_H
#define CP_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/pages.h"
#include "symbols.h"

#define CP_NO_MAPPING UINT32_MAX

struct cp_mapping {
	uint64_t start, limit, offset; /* [start, limit); file offset of start */
	uint64_t device, inode;
	uint64_t image;	      /* where the module's first byte is mapped; 0 = not known */
	uint64_t image_limit; /* end of what is mapped of its file */
	uint64_t seen;	      /* number of the newest reading that had it */
	const char *path;     /* without " (deleted)"; "//anon" without a file */
	uint8_t build_id[CP_BUILD_ID_MAX];
	uint8_t build_id_size;
	bool identified; /* build id was looked for */
	bool live;	 /* in the newest reading */
	bool ours;	 /* libcprof's own code */
	bool main;	 /* the program's executable */
	bool anonymous;	 /* no file: JIT code, "//anon", "[vdso]" */
	bool vdso;
	bool kernel;   /* its own code, all of it: "[kernel.kallsyms]" */
	bool deleted;  /* whatever is at PATH now, it isn't this */
	bool self_exe; /* /proc/self/exe is its file, deleted or not */
};

struct cp_modules {
	struct cp_arena names;
	struct cp_vec mappings;	 /* struct cp_mapping, never removed */
	struct cp_vec live;	 /* uint32_t, sorted by start */
	struct cp_vec next_live; /* the reading under way */
	char *buffer;		 /* for readings */
	uint64_t readings;
	uint64_t loads; /* the loader's count, when all that it had loaded was read; 0 = never */
	int error;	/* of the newest reading */
};

void cp_modules_init(struct cp_modules *m);
/* Read the list anew: 0, or a negative errno (then the old list stays). */
int cp_modules_refresh(struct cp_modules *m);
/* Number of the mapping that holds PC: a live one, else the one that went last of those that did.
 */
uint32_t cp_modules_find(const struct cp_modules *m, uint64_t pc);
struct cp_mapping *cp_modules_at(const struct cp_modules *m, uint32_t number);
/* The number of the mapping that stands for the kernel's code; CP_NO_MAPPING without memory. */
uint32_t cp_modules_kernel(struct cp_modules *m);
/* Whether PC, which no mapping holds, is the kernel's. */
bool cp_modules_is_kernel(uint64_t pc);
/* Look for the build id, while the module is still mapped. */
void cp_modules_identify(struct cp_mapping *mapping);
void cp_modules_release(struct cp_modules *m);

#endif
