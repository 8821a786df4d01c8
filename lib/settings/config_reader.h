/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads single settings from the environment, and says what is wrong with them.
 *
 * One rule for all variables: an empty value counts as not set, except for a list; text that can't
 * be read leaves the default; a number out of range becomes the nearest number in range. For each
 * value that isn't taken as it is, one line names the variable, the value, the accepted values and
 * the value used instead.
 */
#ifndef CP_CONFIG_READER_H
#define CP_CONFIG_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "settings/config_table.h"

struct cp_config_reader {
	const char *(*name)(const char *key); /* returns a variable's value, or NULL */
	const char *program;		      /* quiet where CPROF_ONLY excludes it; NULL: never */
	bool quiet;
	char *said; /* gets the last line about a bad value, which then isn't printed; or NULL */
	size_t said_size;
};

/* Returns KEY's value; NULL if it is not set, or empty. */
const char *cp_config_reader_get(const struct cp_config_reader *r, const char *key);
/* Prints the line about KEY's bad VALUE, which is cut and stripped of control characters. */
void cp_config_reader_say(const struct cp_config_reader *r, const char *key, const char *value,
			  const char *accepted, const char *used);
/* Reads ROW's variable into its field in IN: a struct cp_config, or a mode's struct. */
void cp_config_reader_read(const struct cp_config_reader *r, const struct cp_config_row *row,
			   void *in);
/* Reads a switch that has no field. */
bool cp_config_reader_switch(const struct cp_config_reader *r, const char *key);
/* Copies VALUE to TO. Returns false, with TO unchanged, if VALUE doesn't fit. */
bool cp_config_reader_copy(const char *value, char *to, size_t size);
/* Writes ROW's field in IN as a person would write it. Not for a text. */
void cp_config_reader_show(const struct cp_config_row *row, const void *in, char *to, size_t size);
/* Sets ROW's field in IN to the default. The field is zero before. */
void cp_config_reader_default(const struct cp_config_row *row, void *in);

#endif
