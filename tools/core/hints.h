/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints hints for the next step: at most three lines after a table, each with a command that
 * helps, and only if they matter.
 */
#ifndef CT_HINTS_H
#define CT_HINTS_H

#include "core/model.h"

/* Prints the hints for P, which was read from FILE, on stderr. */
void ct_hints_say(const struct ct_profile *p, const char *file);
/* For a table of lines: prints a hint on stderr if no function of P has a line. */
void ct_hints_say_lines(const struct ct_profile *p, const char *file);

#endif
