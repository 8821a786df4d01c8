/* The list of modules that the handlers search, and its exchange: between cfi_modules.c, which asks
 * the loader, and cfi_poll.c, which must not wait for it.
 */
#ifndef CP_CFI_MODULES_H
#define CP_CFI_MODULES_H

#include <link.h>

#include "cfi_build.h"
#include "sigsafe/cfi_module.h"

#define CP_CFI_PAGE UINT64_C(4096)

/* Room for so many modules, or NULL. */
struct cp_cfi_snapshot *cp_cfi_snapshot_make(size_t room);
/* In its place, by address. False: there is no room. */
bool cp_cfi_snapshot_add(struct cp_cfi_snapshot *s, const struct cp_cfi_module *m);
/* With the tables of its modules. NULL is fine. */
void cp_cfi_snapshot_release(struct cp_cfi_snapshot *s);

/* A table for M from its segment H, if that may hold the information and M has none yet. */
void cp_cfi_modules_build(struct cp_cfi_module *m, struct cp_cfi_place *p, const ElfW(Phdr) * h,
			  bool copy);

/* Make NEW (NULL: no modules) what handlers see: if the loader's count of changes, VERSION, is not
 * older than that of what they see; VERSION NULL: if that still is EXPECTED. *OLD is what they saw,
 * for the caller to release once no walk can be using it; false: it is not exchanged. */
bool cp_cfi_snapshot_publish(struct cp_cfi_snapshot *new, const uint64_t *version,
			     struct cp_cfi_snapshot *expected, struct cp_cfi_snapshot **old);

#endif
