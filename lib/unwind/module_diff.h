/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the modules before and after a dlclose, to find those that went away. The heap mode's
 * part of the interposed dlclose calls this in ordinary context. Asks the loader, whose lock
 * dlclose takes anyway. */
#ifndef CP_MODULE_DIFF_H
#define CP_MODULE_DIFF_H

#include <stdbool.h>
#include <stdint.h>

struct cp_module_diff;

/* Returns the list of current modules, for one call of cp_module_diff_each. Returns NULL if there
 * is no memory or there are too many modules. */
struct cp_module_diff *cp_module_diff_before(void);

/* Call UNLOADED for each module in U that isn't loaded any more, and release U. Returns false if
 * more modules may have been unloaded without being reported: U is NULL, modules were loaded
 * meanwhile, or a module of another namespace was unloaded. */
bool cp_module_diff_each(struct cp_module_diff *u, void (*unloaded)(uint64_t low, uint64_t high));

/* Returns how many modules the loader has loaded so far. */
uint64_t cp_module_diff_loads(void);

#endif
