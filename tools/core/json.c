/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON output; see json.h. */
#include "core/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct ct_json ct_json_to(FILE *to)
{
	return (struct ct_json){ .to = to };
}

unsigned ct_json_utf8(const unsigned char *s)
{
	static const struct {
		unsigned char first, last, low, high;
		unsigned length;
	} kinds[] = {
		{ 0x20, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		if (*s < kinds[k].first || *s > kinds[k].last)
			continue;
		if (kinds[k].length > 1 && (s[1] < kinds[k].low || s[1] > kinds[k].high))
			return 0;
		for (unsigned i = 2; i < kinds[k].length; i++)
			if ((s[i] & 0xc0) != 0x80)
				return 0;
		return kinds[k].length;
	}
	return 0;
}

void ct_json_quote(FILE *to, const char *text)
{
	fputc('"', to);
	for (const unsigned char *s = (const unsigned char *)text; *s;) {
		unsigned n = ct_json_utf8(s);

		if (*s < 0x20 || *s == 0x7f) {
			fprintf(to, "\\u%04x", *s++);
		} else if (*s == '"' || *s == '\\') {
			fprintf(to, "\\%c", *s++);
		} else if (n) {
			fwrite(s, 1, n, to);
			s += n;
		} else {
			fputs("\xef\xbf\xbd", to);
			s++;
		}
	}
	fputc('"', to);
}

static void start(struct ct_json *j, const char *key)
{
	if (j->follows)
		fputc(',', j->to);
	if (j->depth)
		fprintf(j->to, "\n%*s", (int)j->depth, "");
	j->follows = true;
	if (!key)
		return;
	ct_json_quote(j->to, key);
	fputs(": ", j->to);
}

void ct_json_open(struct ct_json *j, const char *key, char bracket)
{
	start(j, key);
	fputc(bracket, j->to);
	j->depth++;
	j->follows = false;
}

void ct_json_close(struct ct_json *j, char bracket)
{
	j->depth--;
	if (j->follows)
		fprintf(j->to, "\n%*s", (int)j->depth, "");
	fputc(bracket, j->to);
	j->follows = true;
	if (!j->depth)
		fputc('\n', j->to);
}

void ct_json_text(struct ct_json *j, const char *key, const char *text)
{
	start(j, key);
	ct_json_quote(j->to, text);
}

void ct_json_integer(struct ct_json *j, const char *key, int64_t value)
{
	start(j, key);
	fprintf(j->to, "%" PRId64, value);
}

void ct_json_number(struct ct_json *j, const char *key, double value)
{
	start(j, key);
	if (isfinite(value))
		fprintf(j->to, "%.10g", value);
	else
		fputs("null", j->to);
}

void ct_json_bool(struct ct_json *j, const char *key, bool value)
{
	start(j, key);
	fputs(value ? "true" : "false", j->to);
}

void ct_json_hex(struct ct_json *j, const char *key, uint64_t value)
{
	start(j, key);
	fprintf(j->to, "\"0x%" PRIx64 "\"", value);
}
