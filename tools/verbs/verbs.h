/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs of cprof: each is one file, which defines its struct ct_verb; main.c's table lists
 * them, in the order of `cprof --help`.
 */
#ifndef CT_VERBS_H
#define CT_VERBS_H

#include <stdbool.h>

/* Exit statuses of every verb; `run` ends with its command's status instead. */
enum { CT_OK = 0, CT_DIFFERS = 1, CT_FAILED = 2 };

struct ct_verb {
	const char *name;
	const char *operands;  /* for the usage line, such as "FILE" */
	const char *summary;   /* one line in `cprof --help` */
	const char *details;   /* text of `cprof VERB --help` before the options; "" or lines */
	bool stops_at_operand; /* options end at the first operand (for run) */
	/* ARGV[0] is the verb's name. Returns the exit status. */
	int (*run)(int argc, char **argv);
};

extern const struct ct_verb ct_verb_info;
extern const struct ct_verb ct_verb_flame;
extern const struct ct_verb ct_verb_folded;
extern const struct ct_verb ct_verb_convert;
extern const struct ct_verb ct_verb_diff;
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
