/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON output; see core.h. */
#include "core/core.h"

#include <inttypes.h>
#include <math.h>

#include "base/text.h"

struct ct_json ct_json_to(FILE *to)
{
	return (struct ct_json){ .to = to };
}

/* Returns the code of the character at S, which has two or three bytes. */
static unsigned code_of(const unsigned char *s, unsigned n)
{
	return n == 2 ? (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu)
		      : (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
}

void ct_json_quote(FILE *to, const char *text)
{
	size_t left = strlen(text);
	unsigned n;
	bool safe;

	fputc('"', to);
	for (const unsigned char *s = (const unsigned char *)text; left; s += n, left -= n) {
		n = cp_text_character((const char *)s, left, &safe);
		if (*s < 0x20 || *s == 0x7f)
			fprintf(to, "\\u%04x", *s);
		else if (*s == '"' || *s == '\\')
			fprintf(to, "\\%c", *s);
		else if (safe)
			fwrite(s, 1, n, to);
		else if (n > 1)
			fprintf(to, "\\u%04x", code_of(s, n));
		else
			fputs("\xef\xbf\xbd", to);
		n += !n;
	}
	fputc('"', to);
}

static void start_value(struct ct_json *j, const char *key)
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
	start_value(j, key);
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
	start_value(j, key);
	ct_json_quote(j->to, text);
}

void ct_json_integer(struct ct_json *j, const char *key, int64_t value)
{
	start_value(j, key);
	fprintf(j->to, "%" PRId64, value);
}

void ct_json_number(struct ct_json *j, const char *key, double value)
{
	start_value(j, key);
	if (isfinite(value))
		fprintf(j->to, "%.10g", value);
	else
		fputs("null", j->to);
}

void ct_json_bool(struct ct_json *j, const char *key, bool value)
{
	start_value(j, key);
	fputs(value ? "true" : "false", j->to);
}

void ct_json_hex(struct ct_json *j, const char *key, uint64_t value)
{
	start_value(j, key);
	fprintf(j->to, "\"0x%" PRIx64 "\"", value);
}
