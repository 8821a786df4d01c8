/* The profile that a verb works on: sources read, merged, compared with a base.
 *
 *     static struct ct_load my_load;
 *     ... ct_options_parse(..., { ct_load_options, ... })
 *     p = ct_load(argv + first, argc - first);
 */
#ifndef CT_LOAD_H
#define CT_LOAD_H

#include "options.h"
#include "profile.h"

/* -base, -diff_base, -normalize, for ct_options_parse. */
extern const struct ct_option ct_load_options[];

/* Reads SOURCES (files, "-", URLs), merges them, subtracts the base that was asked for, and leaves
 * out the frames that the profile itself says to drop. NULL: it was said on stderr why. */
struct ct_profile *ct_load(char *const *sources, int count);
/* With -diff_base the base's samples have this label, =true, and are what shares are counted of. */
#define CT_BASE_LABEL "pprof::base"

/* Drops what is below the frames that match P's drop_frames. */
void ct_drop_frames(struct ct_profile *p);

#endif
