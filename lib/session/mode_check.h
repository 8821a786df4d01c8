/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks before a mode starts, so that the user learns of an error then, and not at the end. Any
 * context in which the settings don't change. */
#ifndef CP_MODE_CHECK_H
#define CP_MODE_CHECK_H

#include "settings/config.h"

/* Returns 0 if mode M can write its file at TEMPLATE at its end, or a negative errno. */
int cp_mode_check_path(unsigned m, const char *template);
/* Returns 0 if the modes of C can be added to the running session, or a negative errno. */
int cp_mode_check_added(const struct cp_config *c);

#endif
