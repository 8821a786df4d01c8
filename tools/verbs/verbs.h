/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs of cprof that have no header of their own: each is one file, which defines its struct
 * ct_verb; main.c's table lists all verbs, in the order of `cprof --help`.
 */
#ifndef CT_VERBS_H
#define CT_VERBS_H

#include "core/verb.h"

extern const struct ct_verb ct_verb_info;
extern const struct ct_verb ct_verb_dump;
extern const struct ct_verb ct_verb_live;
extern const struct ct_verb ct_verb_ps;
extern const struct ct_verb ct_verb_push;
extern const struct ct_verb ct_verb_record;
extern const struct ct_verb ct_verb_serve;
extern const struct ct_verb ct_verb_set;
extern const struct ct_verb ct_verb_start;
extern const struct ct_verb ct_verb_stop;
extern const struct ct_verb ct_verb_threads;
extern const struct ct_verb ct_verb_run;
extern const struct ct_verb ct_verb_symbolize;
extern const struct ct_verb ct_verb_list;
extern const struct ct_verb ct_verb_merge;
extern const struct ct_verb ct_verb_peek;
extern const struct ct_verb ct_verb_strip_labels;
extern const struct ct_verb ct_verb_tags;
extern const struct ct_verb ct_verb_top;
extern const struct ct_verb ct_verb_leaks;
extern const struct ct_verb ct_verb_locks;
extern const struct ct_verb ct_verb_spans;
extern const struct ct_verb ct_verb_waits;
extern const struct ct_verb ct_verb_tree;

#endif
