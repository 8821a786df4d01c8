/* SPDX-License-Identifier: BSD-3-Clause */
/* The options by which verbs choose modes: -cpu, -wall, -heap, -lock, -io, -event, each with its
 * setting. For run, start and record.
 */
#ifndef CT_MODE_OPTIONS_H
#define CT_MODE_OPTIONS_H

#include "control/control_modes.h"
#include "core/options.h"

struct ct_mode_option {
	const char *value; /* NULL: the mode isn't asked for; "": with its default setting */
};

/* One for each of ct_control_modes. */
extern struct ct_mode_option ct_mode_options[CT_MODES];
/* For ct_options_parse. */
extern const struct ct_option ct_mode_options_table[];

/* -heap-views, for run and start: a value of CPROF_HEAP_VIEWS; NULL: it isn't given. */
extern const char *ct_mode_options_heap_views;
extern const struct ct_option ct_mode_options_views_table[];

/* Are all settings readable? Otherwise says so and returns CT_FAILED. The library would report a
 * bad setting, too, but use its default, and the run would be for nothing. */
int ct_mode_options_check(const struct ct_verb *verb);
/* How many modes are asked for. */
unsigned ct_mode_options_count(void);
/* If BEFORE, the argument before OPERAND, is an option of these, and OPERAND can be its setting,
 * says on stderr that it follows after "=". */
void ct_mode_options_hint(const char *before, const char *operand);
/* Says on stderr that COMMAND[0] can't be run, for the reason ERROR, an errno value; and gives
 * the hint of ct_mode_options_hint. Returns the exit status, 126 or 127, that a shell would have.
 */
int ct_mode_options_cannot_run(char *const *command, int error);

/* Seconds of "10", "1.5s", "200ms", "5m", "1h"; below 0: unreadable. */
double ct_mode_options_seconds(const char *text);
/* PATH with INFIX before its extension, absolute, to be freed. */
char *ct_mode_options_infix(const char *path, const char *infix);
char *ct_mode_options_absolute(const char *path);
/* PATH as the library takes it literally, to be freed: a % would be a template's. */
char *ct_mode_options_escaped(const char *path);

#endif
