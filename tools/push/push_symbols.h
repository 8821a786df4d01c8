/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines and inlined calls for one window after the other. What was found for an address is kept, so
 * that a window costs only what is new in it. Called by push_follow.c.
 */
#ifndef CT_PUSH_SYMBOLS_H
#define CT_PUSH_SYMBOLS_H

#include "core/model.h"

struct ct_push_symbols;

/* ROOTS: as for ct_verb_symbolize_profile; they must live on. */
struct ct_push_symbols *ct_push_symbols_new(const char *const *roots);
void ct_push_symbols_free(struct ct_push_symbols *s);
/* Adds lines to the locations of P that have none. */
void ct_push_symbols_apply(struct ct_push_symbols *s, struct ct_profile *p);

#endif
