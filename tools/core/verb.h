/* SPDX-License-Identifier: BSD-3-Clause */
/* A verb of cprof, and the exit statuses of all verbs. Which verbs there are: main.c. */
#ifndef CT_VERB_H
#define CT_VERB_H

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

#endif
