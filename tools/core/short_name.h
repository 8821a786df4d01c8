/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that fit a terminal: std::__adjust_heap<…> for one with three lines of template arguments.
 */
#ifndef CT_SHORT_NAME_H
#define CT_SHORT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "core/options.h"

/* -full-names */
extern const struct ct_option ct_short_name_options[];

/* Returns the number of columns of the terminal that stdout was at the first call, which comes
 * before a pager begins. Returns 0 if stdout was no terminal, or if names must not be shortened. */
size_t ct_short_name_columns(void);
/* Whether -full-names is given. */
bool ct_short_name_never(void);
/* Returns NAME in at most WIDTH columns; the caller frees it. Template arguments become <…>, the
 * innermost first. If that isn't enough, the beginning is replaced by "…". WIDTH 0: the name is not
 * changed. */
char *ct_short_name(const char *name, size_t width);

#endif
