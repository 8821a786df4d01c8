/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the profile that a verb works on: reads and merges the sources, and subtracts a base.
 *
 *     static struct ct_load my_load;
 *     ... ct_options_parse(..., { ct_load_options, ... })
 *     p = ct_load(argv + first, argc - first);
 */
#ifndef CT_LOAD_H
#define CT_LOAD_H

#include "core/options.h"
#include "core/model.h"

/* -base, -diff_base, -normalize, -drop_frames, for ct_options_parse. */
extern const struct ct_option ct_load_options[];

/* Reads SOURCES (files, "-", URLs), merges them, subtracts the base that the options name, and
 * leaves out the frames that the profile itself says to drop; those of libcprof's profiles only
 * with -drop_frames. Returns NULL after a message on stderr. */
struct ct_profile *ct_load(char *const *sources, int count);
/* Was a base subtracted from what ct_load() made? */
bool ct_load_is_difference(void);
/* With -diff_base, the base's samples have this label with the value "true", and shares are
 * relative to them. */
#define CT_BASE_LABEL "pprof::base"

#endif
