/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the names of profile files; see settings.h. No allocation, no locale, any context.
 *
 * The same function builds each name twice, first only counting, so the caller's buffer is
 * unchanged if it is too small.
 */
#include "settings/settings.h"

#include <errno.h>

#include "base/text.h"

#define VARIABLE_MAX 128 /* bytes of a name in %q{NAME} */

struct out {
	char *to; /* NULL: only count the bytes */
	size_t len;
};

static void put_bytes(struct out *o, const char *s, size_t n)
{
	if (o->to)
		memcpy(o->to + o->len, s, n);
	o->len += n;
}

static void put_text(struct out *o, const char *s)
{
	put_bytes(o, s, strlen(s));
}

/* Puts text that is not a template; cp_path_number turns the doubled % back. */
static void put_literal(struct out *o, const char *s)
{
	for (; *s; s++)
		put_text(o, *s == '%' ? "%%" : (const char[]){ *s, '\0' });
}

/* Puts text that must not add a directory. */
static void put_name(struct out *o, const char *s)
{
	for (; *s; s++)
		put_literal(o, *s == '/' ? "_" : (const char[]){ *s, '\0' });
}

/* Converts days since 1970 to a date of the Gregorian calendar, by eras of 400 years. Years begin
 * in March, so that a leap day is the last of its year. */
static void civil_from_days(uint64_t days, unsigned *year, unsigned *month, unsigned *day)
{
	uint64_t z = days + 719468; /* days from 0000-03-01 to 1970-01-01 */
	uint64_t era = z / 146097, of_era = z % 146097;
	uint64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	uint64_t of_year = of_era - (365 * y + y / 4 - y / 100);
	unsigned m = (unsigned)((5 * of_year + 2) / 153);

	*day = (unsigned)(of_year - (153 * m + 2) / 5 + 1);
	*month = m < 10 ? m + 3 : m - 9;
	*year = (unsigned)(y + era * 400 + (*month <= 2));
}

static void put_time(struct out *o, uint64_t t)
{
	unsigned year, month, day, s = (unsigned)(t % 86400);
	char text[32];

	civil_from_days(t / 86400, &year, &month, &day);
	cp_text_format(text, sizeof(text), "%04u%02u%02u-%02u%02u%02u", year, month, day, s / 3600,
		       s / 60 % 60, s % 60);
	put_text(o, text);
}

static void put_pid(struct out *o, int pid)
{
	char text[16];

	cp_text_format(text, sizeof(text), "%d", pid);
	put_text(o, text);
}

/* Puts the value of the variable in braces at P, nothing if it is not set. Returns the closing
 * brace; NULL: P is no such name. */
static const char *put_variable(struct out *o, const char *p, const struct cp_path_facts *facts)
{
	const char *end = *p == '{' ? strchr(p, '}') : NULL, *value;
	char name[VARIABLE_MAX];

	if (!end || end == p + 1 || end - p > (long)sizeof(name))
		return NULL;
	memcpy(name, p + 1, (size_t)(end - p - 1));
	name[end - p - 1] = '\0';
	value = facts->variable ? facts->variable(name) : NULL;
	if (value)
		put_name(o, value);
	return end;
}

static void put_expanded(struct out *o, const char *template, const struct cp_path_facts *facts,
			 bool *has_pid)
{
	const char *end;

	for (const char *p = template; *p; p++) {
		if (*p != '%' || !p[1]) {
			put_bytes(o, p, 1);
			continue;
		}
		switch (*++p) {
		case 'p':
			put_pid(o, facts->pid);
			*has_pid = true;
			break;
		case 'e': put_name(o, facts->program); break;
		case 'h': put_name(o, facts->host); break;
		case 't': put_time(o, facts->start_time); break;
		case 'q':
			end = put_variable(o, p + 1, facts);
			if (!end)
				put_bytes(o, p - 1, 2);
			p = end ? end : p;
			break;
		default: put_bytes(o, p - 1, 2);
		}
	}
}

static void put_absolute(struct out *o, const char *template, const char *cwd,
			 const struct cp_path_facts *facts, bool *has_pid)
{
	*has_pid = false;
	if (template[0] != '/') {
		put_literal(o, cwd);
		if (!cwd[0] || cwd[strlen(cwd) - 1] != '/')
			put_text(o, "/");
		while (template[0] == '.' && template[1] == '/')
			template += 2;
	}
	put_expanded(o, template, facts, has_pid);
	if (facts->rank && !*has_pid) {
		put_text(o, ".rank-");
		put_name(o, facts->rank);
	}
}

int cp_path_expand(char *to, size_t size, const char *template, const char *cwd,
		   const struct cp_path_facts *facts, bool *has_pid)
{
	struct out o = { NULL, 0 };
	bool pid;

	if (template[0] != '/' && !cwd[0])
		return -ESTALE;
	put_absolute(&o, template, cwd, facts, &pid);
	if (o.len >= size)
		return -ENAMETOOLONG;
	o = (struct out){ to, 0 };
	put_absolute(&o, template, cwd, facts, has_pid);
	to[o.len] = '\0';
	return 0;
}

static bool has_mark(const char *path)
{
	for (const char *p = strchr(path, '%'); p; p = strchr(p + (p[1] ? 2 : 1), '%'))
		if (p[1] == 'n')
			return true;
	return false;
}

/* Returns the dot before EXT, or the end of PATH. */
static const char *find_extension(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	if (!dot || dot == name)
		return path + strlen(path);
	if (!strcmp(dot, ".gz")) {
		if (dot - name > 3 && !memcmp(dot - 3, ".pb", 3))
			return dot - 3;
		if (dot - name > 6 && !memcmp(dot - 6, ".pprof", 6))
			return dot - 6;
	}
	return dot;
}

static bool is_mark(const char *p)
{
	return p[0] == '%' && p[1] == 'n';
}

/* Handles "%n" at P of PATH, or a separator and "%n", without a number. The replacement must not
 * leave a name that is empty, hidden or starts with a dash. Returns the length of the replaced
 * text. */
static size_t put_no_number(struct out *o, const char *path, const char *p)
{
	size_t separator = !is_mark(p);

	if (p == path || p[-1] == '/') {
		put_bytes(o, p, separator);
		put_text(o, "0000");
	}
	return separator + 2;
}

/* Puts PATH with NUMBER, a text; "" = no number. */
static void put_numbered(struct out *o, const char *path, const char *number)
{
	const char *insert = number[0] && !has_mark(path) ? find_extension(path) : NULL;
	const char *p = path;

	for (;;) {
		if (insert && p == insert) {
			put_text(o, ".");
			put_text(o, number);
		}
		if (!*p)
			return;
		if (!number[0] && (is_mark(p) || (strchr(".-_", *p) && is_mark(p + 1)))) {
			p += put_no_number(o, path, p);
		} else if (is_mark(p)) {
			put_text(o, number);
			p += 2;
		} else {
			put_bytes(o, p, 1);
			p += p[0] == '%' && p[1] == '%' ? 2 : 1;
		}
	}
}

int cp_path_infix(char *to, size_t size, const char *path, const char *infix)
{
	size_t at = (size_t)(find_extension(path) - path), length = strlen(path);
	size_t more = strlen(infix) + 1;

	if (length + more >= size)
		return -ENAMETOOLONG;
	memmove(to + at + more, path + at, length + 1 - at);
	memmove(to, path, at);
	to[at] = '.';
	memcpy(to + at + 1, infix, more - 1);
	return 0;
}

int cp_path_number(char *to, size_t size, const char *path, unsigned number)
{
	struct out o = { NULL, 0 };
	char text[16] = "";

	if (number)
		cp_text_format(text, sizeof(text), "%04u", number);
	put_numbered(&o, path, text);
	if (o.len >= size)
		return -ENAMETOOLONG;
	o = (struct out){ to, 0 };
	put_numbered(&o, path, text);
	to[o.len] = '\0';
	return 0;
}

int cp_path_process(char *to, size_t size, const char *path, int pid, unsigned sequence)
{
	char suffix[32];
	size_t n = strlen(path), more;

	more = cp_text_format(suffix, sizeof(suffix), ".%d", pid);
	if (sequence > 1)
		more += cp_text_format(suffix + more, sizeof(suffix) - more, ".%u", sequence);
	if (n + more >= size)
		return -ENAMETOOLONG;
	memmove(to, path, n);
	memcpy(to + n, suffix, more + 1);
	return 0;
}

static bool is_continuation(char c)
{
	return (c & 0xc0) == 0x80;
}

/* No name in UTF-8 begins with a continuation byte. A byte that is ASCII, marked or not, is never
 * followed by one there. */
char cp_path_first(const char *value)
{
	bool marked =
		is_continuation(value[0]) || ((value[0] & 0x80) && !is_continuation(value[1]));

	return (char)(marked ? value[0] & 0x7f : value[0]);
}

bool cp_path_same(const char *a, const char *b)
{
	return cp_path_first(a) == cp_path_first(b) && (!*a || !strcmp(a + 1, b + 1));
}
