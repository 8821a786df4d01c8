/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorts the files of `cprof flame` into tabs by their sample types. Used by flame.c. */
#ifndef CT_FLAME_TABS_H
#define CT_FLAME_TABS_H

#include "core/options.h"
#include "flame/flame.h"

/* Reads FILES and puts them into tabs, and each of BASES beside the tab of its sample types.
 * Returns CT_OK, or CT_FAILED after an error message; release the tabs in either case. */
int ct_flame_tabs_open(struct ct_flame *flame, const struct ct_list *files,
		       const struct ct_list *bases);
void ct_flame_tabs_release(struct ct_flame *flame);

#endif
