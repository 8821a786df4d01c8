/* SPDX-License-Identifier: BSD-3-Clause */
/* Types as the demangler spells them; see dwarf.h. */
#include "dwarf/dwarf.h"

#include <ctype.h>

#define NESTED_MAX 64

void ct_dwarf_spelling_put(struct ct_dw_text *t, const char *text, size_t n)
{
	if (n >= t->size - t->length) {
		t->full = 1;
		n = t->size - t->length - 1;
	}
	memcpy(t->to + t->length, text, n);
	t->length += n;
	t->to[t->length] = '\0';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* The longest names come first. */
static const struct {
	const char *from, *to;
} spellings[] = {
	{ "long long unsigned int", "unsigned long long" },
	{ "long unsigned int", "unsigned long" },
	{ "short unsigned int", "unsigned short" },
	{ "long long int", "long long" },
	{ "__int128 unsigned", "unsigned __int128" },
	{ "long int", "long" },
	{ "short int", "short" },
	{ "{anonymous}", "(anonymous namespace)" },
	{ "<unnamed>", "(anonymous namespace)" },
};

/* Returns the index of the name at the start of S, as whole words; or -1. */
static int spelling_at(const char *s)
{
	for (size_t i = 0; i < sizeof(spellings) / sizeof(*spellings); i++) {
		size_t n = strlen(spellings[i].from);

		if (!strncmp(s, spellings[i].from, n) && !(is_word(s[n - 1]) && is_word(s[n])))
			return (int)i;
	}
	return -1;
}

/* Returns the length of "<...>" at S with everything that is nested in it. */
static size_t arguments(const char *s)
{
	size_t n = 0;
	int depth = 0;

	do {
		depth += (s[n] == '<' || s[n] == '(') - (s[n] == '>' || s[n] == ')');
		n++;
	} while (s[n] && depth > 0);
	return n;
}

static size_t word_length(const char *s)
{
	size_t n = 0;

	while (is_word(s[n]))
		n++;
	return n;
}

/* Is the word of N bytes at S part of a type of several words, such as "unsigned char"? */
static bool is_part(const char *s, size_t n)
{
	static const char *const parts[] = { "unsigned", "signed", "char",  "int",
					     "long",	 "short",  "double" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strlen(parts[i]) == n && !strncmp(s, parts[i], n))
			return true;
	return false;
}

/* Returns the length of the type's name at S: "a::b<c>::d", "long unsigned int". A "*" or "&" after
 * it doesn't count. */
static size_t type_name(const char *s)
{
	int known = spelling_at(s);
	size_t n = 0, next;

	if (known >= 0 && strncmp(s + strlen(spellings[known].from), "::", 2) != 0)
		return strlen(spellings[known].from);
	for (;;) {
		known = spelling_at(s + n);
		n += known >= 0 ? strlen(spellings[known].from) : word_length(s + n);
		if (s[n] == '<')
			n += arguments(s + n);
		if (strncmp(s + n, "::", 2) == 0) {
			n += 2;
			continue;
		}
		next = s[n] == ' ' ? word_length(s + n + 1) : 0;
		if (!next || !is_part(s + n + 1, next))
			return n;
		n += 1 + next;
	}
}

static void put_text(struct ct_dw_text *t, const char *s, size_t n, int nested);

/* S follows "const ". Writes the type at S and then " const", as the demangler does. Returns the
 * number of bytes of S that were written. */
static size_t put_const(struct ct_dw_text *t, const char *s, size_t most, int nested)
{
	size_t n = type_name(s);

	if (n > most)
		n = most;
	put_text(t, s, n, nested + 1);
	ct_dwarf_spelling_put(t, " const", 6);
	return n;
}

static void put_text(struct ct_dw_text *t, const char *s, size_t n, int nested)
{
	const char *end = s + n;
	bool inside = false; /* inside a word, where no type begins */

	while (s < end) {
		int known = inside ? -1 : spelling_at(s);
		size_t length = known >= 0 ? strlen(spellings[known].from) : 1;

		if (known >= 0 && length <= (size_t)(end - s)) {
			ct_dwarf_spelling_put(t, spellings[known].to, strlen(spellings[known].to));
			s += length;
		} else if (!inside && nested < NESTED_MAX && end - s > 6 &&
			   !strncmp(s, "const ", 6)) {
			s += 6;
			s += put_const(t, s, (size_t)(end - s), nested);
		} else {
			ct_dwarf_spelling_put(t, s++, 1);
		}
		inside = s < end && is_word(s[-1]);
	}
}

void ct_dwarf_spelling_name(struct ct_dw_text *t, const char *name)
{
	put_text(t, name, strlen(name), 0);
}
