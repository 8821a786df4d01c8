/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses an unwinder. */
#ifndef CP_UNWINDER_CHOICE_H
#define CP_UNWINDER_CHOICE_H

#include "settings/config.h"
#include "sample/unwinder.h"

/* Returns the prepared unwinder for CHOICE. If it can't work here, prints one line on stderr and
 * returns the next best. Ordinary context. */
const struct cp_unwinder *cp_unwinder_choice_make(enum cp_unwind_choice choice);

/* Choose the default unwinder, for stacks that are taken without a session, unless one is chosen.
 * Returns false if there is none. Ordinary context. */
bool cp_unwinder_choice_default(void);

#endif
