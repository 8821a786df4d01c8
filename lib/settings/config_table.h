/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of settings: one of settings that belong to no mode, and one for each mode, in the
 * mode's folder (NAME_settings.c). The tables give the defaults, tell how the environment and
 * the options are read, and which values are bad. tests/checks/documented.sh compares them with the
 * documents. config.c and a mode's READ read the settings that a row can't express: paths, and the
 * switches of gperftools that change another setting.
 */
#ifndef CP_CONFIG_TABLE_H
#define CP_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "settings/config_fields.h"

struct cp_config_reader;

/* The type of the field, and how its value is written. */
enum cp_config_kind {
	CP_CONFIG_NUMBER,   /* unsigned, MIN to MAX; with PERCENT also 1% to 100% */
	CP_CONFIG_SIZE,	    /* uint64_t, MIN to MAX bytes */
	CP_CONFIG_DURATION, /* uint64_t, 0 or MIN to MAX ns */
	CP_CONFIG_SWITCH,   /* bool */
	CP_CONFIG_CHOICE,   /* an enum: the number of one of NAMES */
	CP_CONFIG_LIST, /* unsigned: a bit for each of NAMES, or CP_CONFIG_UNSET with the default */
	CP_CONFIG_SIGNAL, /* int; 0: none */
	CP_CONFIG_TEXT,	  /* char[1024] */
};

#define CP_CONFIG_NAMES 4
#define CP_CONFIG_TEXT_SIZE 1024

struct cp_config_row {
	const char *variable;
	enum cp_config_kind kind : 8;
	bool live;   /* can be changed while the mode is on */
	uint16_t at; /* the field in struct cp_config, or in the mode's struct */
	/* The field in struct cprof_options; 0: none. Its type is unsigned (number), unsigned long
	 * long (size), long long or unsigned long long (duration), int (switch)
	 * or const char * (text). */
	uint16_t option;
	bool percent;	      /* a number that may be a percentage (CP_CONFIG_PERCENT) */
	const char *standard; /* the default as text; NULL: 0, or "" */
	uint64_t min, max;
	const char *const *names; /* CP_CONFIG_NAMES; NULL after the last */
	/* The accepted values, for messages. For a number, the text after "MIN to MAX"; for other
	 * kinds, the whole text. NULL for a choice and a list: the message lists NAMES. */
	const char *accepted;
	/* For a text: the value that replaces a bad one, in words and as the value, and a function
	 * that recognizes good values; NULL: all values are good. */
	const char *otherwise, *instead;
	bool (*is_good)(const char *value);
};

/* A list with this bit is the default: the variable is not set. */
#define CP_CONFIG_UNSET (1u << 31)
/* A number with this bit is a percentage: the rest, 1 to 100. */
#define CP_CONFIG_PERCENT (1u << 31)

/* The settings that belong to no mode. */
extern const struct cp_config_row cp_config_table[];
extern const size_t cp_config_table_size;

/* The settings of one mode. The mode's own struct has the fields: cp_config_of. */
struct cp_config_mode {
	const char *variable; /* "CPUPROFILE": has the path; the mode is on if it is set */
	size_t path_option;   /* offset of the path in struct cprof_options; 0: it has no field */
	const struct cp_config_row *rows;
	size_t count;
	/* Called after all rows were read from the environment. NULL = nothing more is read. */
	void (*read)(const struct cp_config_reader *r, struct cp_config *c);
};

/* Make the settings of mode M known. NAME is the mode's. Call before settings are read. */
void cp_config_table_add(unsigned m, const char *name, const struct cp_config_mode *mode);
/* Return the settings of mode M, and its name; NULL if there is no such mode. */
const struct cp_config_mode *cp_config_table_mode(unsigned m);
const char *cp_config_table_name(unsigned m);
/* Return row I of all tables together, or NULL after the last. */
const struct cp_config_row *cp_config_table_at(size_t i);

#endif
