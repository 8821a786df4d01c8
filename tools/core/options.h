/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* Options of a verb, by getopt: -focus=x, -focus x, --focus=x and --focus x are all the same.
 *
 *     static struct { const char *output; bool json; } my;
 *     static const struct ct_option options[] = {
 *         CT_TEXT("output", "FILE", &my.output, "where to write"),
 *         CT_FLAG("json", &my.json, "as JSON"),
 *         CT_END
 *     };
 *     int first = ct_options_parse(&ct_verb_x, argc, argv,
 *                                  (const struct ct_option *[]){ options, NULL });
 *     if (first < 0)
 *         return ct_options_status(first);
 *
 * Options and operands may be mixed, unless the verb stops at the first operand. --help is always
 * there.
 */
/* clang-format on */
#ifndef CT_OPTIONS_H
#define CT_OPTIONS_H

#include <stdbool.h>

#include "core/verb.h"

/* Before each further line of a help text. */
#define CT_OPTIONS_INDENT "                            "

struct ct_option {
	const char *name;
	enum ct_option_kind {
		CT_KIND_FLAG,	 /* bool: set to true; -name=false and -name=0 set it to false */
		CT_KIND_TEXT,	 /* const char * */
		CT_KIND_MAYBE,	 /* const char *: -name=value, or -name alone: "" */
		CT_KIND_LIST,	 /* struct ct_list: may be given several times */
		CT_KIND_INTEGER, /* long, 0 or more */
		CT_KIND_NUMBER,	 /* double, at least 0; "5%" is 0.05 */
		CT_KIND_CHOICE,	 /* int: set to VALUE */
	} kind;
	void *to;
	int value;
	const char *argument; /* name of the argument in --help */
	const char *help;     /* NULL: not in --help (an alias) */
};

struct ct_list {
	const char **items;
	unsigned long count;
};

#define CT_FLAG(name, to, help)                                                                    \
	{                                                                                          \
		name, CT_KIND_FLAG, to, 0, NULL, help                                              \
	}
#define CT_TEXT(name, argument, to, help)                                                          \
	{                                                                                          \
		name, CT_KIND_TEXT, to, 0, argument, help                                          \
	}
#define CT_MAYBE(name, argument, to, help)                                                         \
	{                                                                                          \
		name, CT_KIND_MAYBE, to, 0, argument, help                                         \
	}
#define CT_LIST(name, argument, to, help)                                                          \
	{                                                                                          \
		name, CT_KIND_LIST, to, 0, argument, help                                          \
	}
#define CT_INTEGER(name, argument, to, help)                                                       \
	{                                                                                          \
		name, CT_KIND_INTEGER, to, 0, argument, help                                       \
	}
#define CT_NUMBER(name, argument, to, help)                                                        \
	{                                                                                          \
		name, CT_KIND_NUMBER, to, 0, argument, help                                        \
	}
#define CT_CHOICE(name, to, value, help)                                                           \
	{                                                                                          \
		name, CT_KIND_CHOICE, to, value, NULL, help                                        \
	}
#define CT_END                                                                                     \
	{                                                                                          \
		NULL, CT_KIND_FLAG, NULL, 0, NULL, NULL                                            \
	}

/* Returns the index of the first operand in ARGV (argc if there is none), or a number below 0 after
 * all messages were printed: the verb must then return ct_options_status() of that number. TABLES
 * ends with NULL. */
int ct_options_parse(const struct ct_verb *verb, int argc, char **argv,
		     const struct ct_option *const *tables);
/* Returns the exit status for a negative result: 0 after --help, else CT_FAILED. */
int ct_options_status(int answer);
/* Prints "cprof VERB: WHAT" and how to get help. Returns CT_FAILED. */
int ct_options_wrong(const struct ct_verb *verb, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
