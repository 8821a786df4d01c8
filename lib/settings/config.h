/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings: the values that the environment or an options struct asks for. The modes must be
 * known before (cp_mode_ops_set). */
#ifndef CP_CONFIG_H
#define CP_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "settings/config_fields.h"

struct cprof_options;

/* Sets the documented defaults, with all modes off. */
void cp_config_defaults(struct cp_config *c);

/* Sets the defaults, then reads the environment over them. NAME(key) returns a variable's value or
 * NULL (secure_getenv in the library). For a value that can't be read, prints one line to stderr
 * that names the variable, the value, the accepted values and the value used instead. Prints
 * nothing if no mode is on. */
void cp_config_read(struct cp_config *c, const char *(*name)(const char *key));

/* The same, but without output if CPROF_ONLY excludes PROGRAM. */
void cp_config_read_for(struct cp_config *c, const char *(*name)(const char *key),
			const char *program);
/* The same without output. Used in descendants of a process that has printed the lines already. */
void cp_config_read_quietly(struct cp_config *c, const char *(*name)(const char *key));
/* The same, and what would be printed of a bad value, at last, goes to SAID of SIZE bytes: "", if
 * all are good. */
void cp_config_read_asked(struct cp_config *c, const char *(*name)(const char *key), char *said,
			  size_t size);

/* Takes the settings of the modes from O; a field that is 0 leaves C's value. The caller takes the
 * paths: cp_config_options_path returns mode M's path in O, or NULL. Returns 0, or -EINVAL if a
 * value is out of range. */
int cp_config_options_take(struct cp_config *c, const struct cprof_options *o);
const char *cp_config_options_path(const struct cprof_options *o, unsigned m);

/* Reads CPROF_CONTROL alone into C, without output. */
void cp_config_read_control(struct cp_config *c, const char *(*name)(const char *key));
/* Returns whether the profiler is to start: a mode is on, or one may be turned on from outside. */
bool cp_config_starts(const struct cp_config *c);
/* Returns whether a mode is on. */
bool cp_config_any(const struct cp_config *c);
/* Returns the name of MODE's variable: "CPUPROFILE"; NULL if there is no such mode. */
const char *cp_config_variable(unsigned mode);

/* Copies all of C to TO. */
void cp_config_copy(struct cp_config *to, const struct cp_config *c);
/* Copies C's settings of mode M, its path included, to TO. */
void cp_config_take_mode(struct cp_config *to, const struct cp_config *c, unsigned m);

/* Returns whether PROGRAM (a basename) matches CPROF_ONLY's globs (*, ?, [a-z]), or CPROF_ONLY is
 * empty. */
bool cp_config_wants_program(const struct cp_config *c, const char *program);

#endif
