/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of modules that handlers search, and how it is replaced. cfi_modules.c fills the list
 * from the loader; cfi_poll.c must not wait for the loader. */
#ifndef CP_CFI_MODULES_H
#define CP_CFI_MODULES_H

#include <link.h>

#include "unwind/cfi_build.h"
#include "unwind/signal/cfi_module.h"

#define CP_CFI_PAGE UINT64_C(4096)

/* Returns a list with room for ROOM modules, or NULL. */
struct cp_cfi_snapshot *cp_cfi_modules_snapshot_make(size_t room);
/* Insert M at its place by address. Returns false if there is no room. */
bool cp_cfi_modules_snapshot_add(struct cp_cfi_snapshot *s, const struct cp_cfi_module *m);
/* Release the list and the tables of its modules. S may be NULL. */
void cp_cfi_modules_snapshot_release(struct cp_cfi_snapshot *s);

/* Build a table for M from its segment H, if the segment may hold the information and M has no
 * table yet. */
void cp_cfi_modules_build(struct cp_cfi_module *m, struct cp_cfi_place *p, const ElfW(Phdr) * h,
			  bool copy);

/* Make NEW (NULL: no modules) the list that handlers see. With VERSION, the loader's count of
 * changes: only if the visible list isn't newer. With VERSION NULL: only if the visible list is
 * still EXPECTED. On success *OLD is the previous list; the caller releases it once no walk can be
 * using it. Returns false if nothing was replaced. */
bool cp_cfi_modules_snapshot_publish(struct cp_cfi_snapshot *new, const uint64_t *version,
				     struct cp_cfi_snapshot *expected,
				     struct cp_cfi_snapshot **old);

#endif
