/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of profile, by the numbers that cprof.h gives them. Each mode is collected, named and
 * written separately. Several may be on at once. A companion is a further view of a main mode, in a
 * file next to the main mode's file. */
#ifndef CP_MODE_IDS_H
#define CP_MODE_IDS_H

#include "cprof.h"

/* Numbers below CP_MAIN_MODES are modes that have an environment variable and an options field of
 * their own; the others, below CP_MODES, are companions. Most numbers are not in use. */
#define CP_MAIN_MODES 16
#define CP_MODES 32

#endif
