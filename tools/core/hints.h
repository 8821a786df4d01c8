/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints hints for the next step: at most three lines after a table, each with a command that
 * helps, and only if they matter.
 */
#ifndef CT_HINTS_H
#define CT_HINTS_H

#include "core/model.h"

struct ct_own;

/* Prints the hints for P, which was read from FILE, on stderr. OWN: the table is one of lines, and
 * FILE can be changed, so a hint says if no code that OWN takes as the user's has a line. NULL: no
 * such hint. */
void ct_hints_say(const struct ct_profile *p, const char *file, struct ct_own *own);

#endif
