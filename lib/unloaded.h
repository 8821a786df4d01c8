/* What a dlclose took away: the modules before and after it, compared. Called by the heap mode's
 * half of the interposed dlclose, in ordinary context; asks the loader, whose lock dlclose takes
 * anyway.
 */
#ifndef CP_UNLOADED_H
#define CP_UNLOADED_H

#include <stdbool.h>
#include <stdint.h>

struct cp_unloaded;

/* The modules that there are, for one call of cp_unloaded_each. NULL: no memory, or too many. */
struct cp_unloaded *cp_unloaded_before(void);

/* GONE for each of them that isn't there now; U is released. false: there may be more, which can't
 * be told: U is NULL, modules have come meanwhile, or what went is in another namespace. */
bool cp_unloaded_each(struct cp_unloaded *u, void (*gone)(uint64_t low, uint64_t high));

/* How many modules the loader has loaded so far. */
uint64_t cp_unloaded_loads(void);

#endif
