/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds profiles of one process up, or subtracts them; in a worker. */
#ifndef CT_SERVE_SUMS_H
#define CT_SERVE_SUMS_H

#include "core/model.h"
#include "serve/serve_windows.h"

/* Returns P with equal rows joined, or NULL. Frees P. */
struct ct_profile *ct_serve_sums_joined(struct ct_profile *p);
/* Returns by how much P differs from BEFORE: P, if BEFORE is of another run. Frees both. */
struct ct_profile *ct_serve_sums_change(struct ct_profile *p, struct ct_profile *before);
/* Returns the sum of P and what was taken of window W before. Frees P. Memory in use is that of P.
 */
struct ct_profile *ct_serve_sums_with_parts(const struct ct_serve_window *w, struct ct_profile *p);

#endif
