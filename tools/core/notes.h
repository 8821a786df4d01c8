/* SPDX-License-Identifier: BSD-3-Clause */
/* The comments of a profile that its user should see, besides the figures. */
#ifndef CT_NOTES_H
#define CT_NOTES_H

#include "core/model.h"

/* Returns comment I of P without the "# " that hides it from pprof's tables. */
const char *ct_notes_comment(const struct ct_profile *p, size_t i);
/* Adds TEXT to P's comments, hidden from pprof's tables in the same way. */
void ct_notes_add(struct ct_profile *p, const char *text);
/* Prints P's notes on stderr, each text once in a run of the tool. */
void ct_notes_say(const struct ct_profile *p);

#endif
