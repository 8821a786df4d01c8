/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables that the constructor reads or writes in every process, also without a mode, or that
 * each fork's child writes.
 *
 * Each page of zeros that a process touches costs it a page fault, and each page that a fork's
 * child writes a copy. In .bss these few bytes would lie between large tables, each on a page of
 * its own. In .data they share one or two pages, which the loader has written anyway.
 */
#ifndef CP_START_DATA_H
#define CP_START_DATA_H

#include "base/atomic.h"

#define CP_START_DATA __attribute__((section(".data.cp_start")))

/* Sets *AT to 0 in a fork's child. A 0 isn't written, because the child would copy its page. */
#define CP_FORK_CLEAR(at)                                                                          \
	do {                                                                                       \
		if (cp_load_relaxed(at))                                                           \
			cp_store_relaxed(at, 0);                                                   \
	} while (0)

#endif
