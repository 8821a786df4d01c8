/* SPDX-License-Identifier: BSD-3-Clause */
/* Hooks of the page census: census_calls.c for C's functions, census_forms.c for C++'s operators.
 * preload/init.c calls prepare before the first run. */
#ifndef CP_CENSUS_CALLS_H
#define CP_CENSUS_CALLS_H

#include <stdbool.h>

void cp_census_calls_prepare(void);

/* Make the allocator's own operators track, or no longer. */
void cp_census_forms_switch_freeing(bool on);
void cp_census_forms_switch_allocating(bool on);

#endif
