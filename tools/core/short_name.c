/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that fit a terminal; see model.h. */
#include "core/model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LEAST_COLUMNS 40
#define LEAST_ROOM 10
#define WITHOUT_TERMINAL 100
#define ELLIPSIS "\342\200\246"

static bool never;
static bool is_terminal; /* stdout, before a pager began */

const struct ct_option ct_short_name_options[] = {
	CT_FLAG("full-names", &never, "names and stacks whole, however long"), CT_END
};

size_t ct_short_name_columns(void)
{
	static bool asked;
	static size_t n;
	const char *columns = getenv("COLUMNS");
	struct winsize size;

	if (never)
		return 0;
	if (asked)
		return n;
	asked = true;
	is_terminal = isatty(STDOUT_FILENO);
	if (!is_terminal)
		return n = WITHOUT_TERMINAL;
	if (columns)
		n = strtoul(columns, NULL, 10);
	else if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		n = size.ws_col;
	if (n && n < LEAST_COLUMNS)
		n = LEAST_COLUMNS;
	return n;
}

bool ct_short_name_never(void)
{
	return never;
}

bool ct_short_name_on_terminal(void)
{
	ct_short_name_columns();
	return is_terminal;
}

size_t ct_short_name_width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* Returns the length of the parentheses at AT if they are no parameters: "operator()", "(anonymous
 * namespace)", Go's "(*T)". */
static size_t plain_parentheses(const char *name, const char *at)
{
	const char *end = *at == '(' ? strchr(at, ')') : NULL;

	if (!end || (end != at + 1 && strncmp(at, "(anonymous namespace)", 21) != 0 &&
		     (at == name || at[-1] != '.')))
		return 0;
	return (size_t)(end + 1 - at);
}

/* Returns the length of the text at AT if it is noise for a reader: an ABI tag, or the call of a
 * lambda. */
static size_t noise(const char *name, const char *at)
{
	const char *end = !strncmp(at, "[abi:", 5) ? strchr(at, ']') : NULL;

	if (end)
		return (size_t)(end + 1 - at);
	return at > name && at[-1] == '}' && !strncmp(at, "::operator()", 12) ? 12 : 0;
}

/* The "<" of an operator does not begin template arguments. */
static bool opens(const char *name, const char *at)
{
	return *at == '(' ||
	       (*at == '<' && !(at - name >= 8 && !strncmp(at - 8, "operator", 8)) &&
		!(at - name >= 9 && !strncmp(at - 9, "operator<", 9)) && at[1] != '=' &&
		/* Rust's "<T as Trait>::f" begins with "<". */
		at != name);
}

static bool closes(const char *name, const char *at)
{
	return *at == ')' || (*at == '>' && at > name && at[-1] != '-' &&
			      !(at - name >= 8 && !strncmp(at - 8, "operator", 8)) &&
			      !(at - name >= 9 && !strncmp(at - 9, "operator>", 9)));
}

/* Returns NAME with the template arguments and parameters deeper than DEPTH replaced by <…> and
 * (…). */
static char *cut_arguments(const char *name, int depth)
{
	char *to = ct_memory_alloc(4 * strlen(name) + 8), *end = to;
	int open = 0;

	for (const char *c = name; *c;) {
		size_t left_out = noise(name, c);
		size_t plain = left_out ? 0 : plain_parentheses(name, c);
		bool closed = open > 0 && closes(name, c);

		if (left_out || plain) {
			if (open <= depth)
				end = mempcpy(end, c, plain);
			c += left_out + plain;
			continue;
		}
		open -= closed;
		if (open <= depth)
			*end++ = *c;
		if (!closed && opens(name, c)) {
			if (open == depth)
				end = stpcpy(end, ELLIPSIS);
			open++;
		}
		c++;
	}
	*end = '\0';
	return to;
}

static char *cut_front(const char *name, size_t width)
{
	size_t n = ct_short_name_width(name);

	while (n > width - 1) {
		name++;
		n -= ((unsigned char)*name & 0xc0) != 0x80;
	}
	return ct_memory_printf(ELLIPSIS "%s", name);
}

/* Returns NAME in at most WIDTH columns, if its template arguments make that possible, else without
 * any. *WHOLE: even that is longer. */
static char *cut_to(const char *name, size_t width, bool *whole)
{
	char *text = NULL;

	*whole = true;
	if (!width || ct_short_name_width(name) <= width)
		return ct_memory_strdup(name);
	for (int depth = 3; depth >= 0; depth--) {
		free(text);
		text = cut_arguments(name, depth);
		if (ct_short_name_width(text) <= width)
			return text;
	}
	*whole = false;
	return text;
}

char *ct_short_name_fitting(const char *name, size_t before)
{
	size_t columns = ct_short_name_columns(), room = columns > before ? columns - before : 0;
	bool whole;

	/* In a file, or with hardly any room, only template arguments are cut: a path stays whole,
	 * so that it can be searched for. */
	if (columns && (!is_terminal || room < LEAST_ROOM))
		return cut_to(name, room ? room : 1, &whole);
	return ct_short_name(name, room);
}

void ct_short_name_print(const char *name, size_t before)
{
	char *shown = ct_short_name_fitting(name, before);

	ct_out_text(stdout, shown);
	free(shown);
}

char *ct_short_name(const char *name, size_t width)
{
	bool whole;
	char *text = cut_to(name, width, &whole), *cut;

	if (whole)
		return text;
	cut = cut_front(text, width);
	free(text);
	return cut;
}
