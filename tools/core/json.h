/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes JSON value after value, with commas and quoting.
 *
 *     struct ct_json j = ct_json_to(stdout);
 *     ct_json_open(&j, NULL, '{');
 *     ct_json_text(&j, "name", "main");
 *     ct_json_open(&j, "rows", '[');
 *     ct_json_close(&j, ']');
 *     ct_json_close(&j, '}');            // the outermost also ends the line
 *
 * KEY is NULL inside an array.
 */
#ifndef CT_JSON_H
#define CT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ct_json {
	FILE *to;
	unsigned depth;
	bool follows; /* the innermost container already has a member */
};

struct ct_json ct_json_to(FILE *to);
void ct_json_open(struct ct_json *j, const char *key, char bracket);
void ct_json_close(struct ct_json *j, char bracket);
/* Bytes that are not UTF-8 become U+FFFD; what must not reach a terminal is escaped. */
void ct_json_text(struct ct_json *j, const char *key, const char *text);
void ct_json_integer(struct ct_json *j, const char *key, int64_t value);
/* A value that is not finite becomes null. */
void ct_json_number(struct ct_json *j, const char *key, double value);
void ct_json_bool(struct ct_json *j, const char *key, bool value);
/* Writes a 64-bit address as text, "0x...". */
void ct_json_hex(struct ct_json *j, const char *key, uint64_t value);
/* Writes only the quoted text, for callers with their own layout. */
void ct_json_quote(FILE *to, const char *text);

#endif
