/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks over the grammar of Rust's v0 mangling and only looks for punycode; see symbols.h.
 *
 * Words like "read_u32" are common in identifiers, and 'u' and digits in numbers, so only a parser
 * can tell. A back-reference is not followed: it is accepted if its target was already walked as
 * the same kind, so the target holds nothing new.
 */
#include "symbols/symbols.h"

#include <stdint.h>
#include <string.h>

#define DEPTH_MAX 600 /* libiberty's own limit is 1024 */
/* The most lifetimes that one "for<...>" may introduce; real names have a dozen at most. */
#define LIFETIMES_MAX 64

enum kind { PATH = 1, TYPE = 2, CONSTANT = 4 };

struct walk {
	const char *s;
	size_t len, at;
	int depth;
	bool bad; /* malformed, too deep, or punycode; stays set */
	uint8_t kinds[CP_RUSTNAME_MAX + 1];
};

static void walk_path(struct walk *w);
static void walk_type(struct walk *w);

static char peek(const struct walk *w)
{
	return w->at < w->len && !w->bad ? w->s[w->at] : '\0';
}

static bool eat(struct walk *w, char c)
{
	if (peek(w) != c)
		return false;
	w->at++;
	return true;
}

static char next_char(struct walk *w)
{
	char c = peek(w);

	if (c)
		w->at++;
	else
		w->bad = true;
	return c;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int base62_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 36 : -1;
}

/* "_" is 0, "0_" is 1, and so on; only exact enough for positions in the name. */
static size_t base62(struct walk *w)
{
	size_t v = 0;

	if (eat(w, '_'))
		return 0;
	while (!w->bad && !eat(w, '_')) {
		int d = base62_digit(next_char(w));

		if (d < 0)
			w->bad = true;
		else if (v <= CP_RUSTNAME_MAX)
			v = v * 62 + (size_t)d;
	}
	return v + 1;
}

static void optional_number(struct walk *w, char tag)
{
	if (eat(w, tag))
		base62(w);
}

static void walk_identifier(struct walk *w)
{
	char c = next_char(w); /* 'u' would be punycode */
	size_t n = (size_t)(c - '0');

	if (!is_digit(c)) {
		w->bad = true;
		return;
	}
	while (c != '0' && is_digit(peek(w)) && n <= CP_RUSTNAME_MAX)
		n = n * 10 + (size_t)(next_char(w) - '0');
	eat(w, '_');
	if (n > w->len - w->at)
		w->bad = true;
	else
		w->at += n;
}

static void walk_backref(struct walk *w, size_t from, unsigned kinds)
{
	size_t to = base62(w);

	if (to >= from || !(w->kinds[to] & kinds))
		w->bad = true;
}

/* Const generics: a type, then its value in hex. */
static void walk_constant(struct walk *w)
{
	size_t from = w->at;

	w->kinds[from] |= CONSTANT;
	if (eat(w, 'B')) {
		walk_backref(w, from, CONSTANT);
		return;
	}
	if (eat(w, 'p'))
		return;
	if (!memchr("htmyojaslxnibc", next_char(w), 14)) {
		w->bad = true;
		return;
	}
	eat(w, 'n');
	while (!w->bad && !eat(w, '_'))
		next_char(w);
}

static void walk_arguments(struct walk *w)
{
	while (!w->bad && !eat(w, 'E')) {
		if (eat(w, 'L'))
			base62(w);
		else if (eat(w, 'K'))
			walk_constant(w);
		else
			walk_type(w);
	}
}

static bool enter_kind(struct walk *w, enum kind kind)
{
	if (w->at >= w->len || w->depth >= DEPTH_MAX)
		w->bad = true;
	if (w->bad)
		return false;
	w->kinds[w->at] |= kind;
	w->depth++;
	return true;
}

static void walk_impl(struct walk *w, char tag)
{
	if (tag != 'Y') {
		optional_number(w, 's');
		walk_path(w);
	}
	walk_type(w);
	if (tag != 'M')
		walk_path(w);
}

static void walk_path(struct walk *w)
{
	size_t from = w->at;
	char tag;

	if (!enter_kind(w, PATH))
		return;
	tag = next_char(w);
	switch (tag) {
	case 'N': next_char(w); walk_path(w); /* fall through */
	case 'C':
		optional_number(w, 's');
		walk_identifier(w);
		break;
	case 'M':
	case 'X':
	case 'Y': walk_impl(w, tag); break;
	case 'I':
		walk_path(w);
		walk_arguments(w);
		break;
	case 'B': walk_backref(w, from, PATH); break;
	default: w->bad = true;
	}
	w->depth--;
}

/* "for<'a, 'b>": libiberty counts its lifetimes one by one, even if nothing is printed, and a name
 * can claim 2^60 of them. */
static void walk_binder(struct walk *w)
{
	if (eat(w, 'G') && base62(w) > LIFETIMES_MAX)
		w->bad = true;
}

static void walk_function(struct walk *w)
{
	walk_binder(w);
	eat(w, 'U');
	if (eat(w, 'K') && !eat(w, 'C'))
		walk_identifier(w);
	while (!w->bad && !eat(w, 'E'))
		walk_type(w);
	walk_type(w);
}

static void walk_trait_object(struct walk *w)
{
	walk_binder(w);
	while (!w->bad && !eat(w, 'E')) {
		walk_path(w);
		while (eat(w, 'p')) {
			walk_identifier(w);
			walk_type(w);
		}
	}
	if (!eat(w, 'L'))
		w->bad = true;
	base62(w);
}

static void walk_compound(struct walk *w, char tag, size_t from)
{
	switch (tag) {
	case 'R':
	case 'Q': optional_number(w, 'L'); /* fall through */
	case 'P':
	case 'O':
	case 'S': walk_type(w); break;
	case 'A':
		walk_type(w);
		walk_constant(w);
		break;
	case 'T':
		while (!w->bad && !eat(w, 'E'))
			walk_type(w);
		break;
	case 'F': walk_function(w); break;
	case 'D': walk_trait_object(w); break;
	/* A type may be a path, which was walked as a path. */
	case 'B': walk_backref(w, from, TYPE | PATH); break;
	default: w->at = from; walk_path(w);
	}
}

static void walk_type(struct walk *w)
{
	size_t from = w->at;
	char tag;

	if (!enter_kind(w, TYPE))
		return;
	tag = next_char(w);
	if (tag < 'a' || tag > 'z')
		walk_compound(w, tag, from);
	w->depth--;
}

static bool walk_all(const char *s, size_t len)
{
	struct walk w = { .s = s, .len = len };

	walk_path(&w);
	if (w.at < w.len) /* the instantiating crate */
		walk_path(&w);
	return !w.bad && w.at == w.len;
}

/* Can there be a binder of more than 62 lifetimes, "G", two digits or more, "_"? */
static bool may_bind_many(const char *s, size_t len)
{
	const char *end = s + len, *g = s;

	for (; (g = memchr(g, 'G', (size_t)(end - g))); g++) {
		const char *p = g + 1;

		while (p < end && base62_digit(*p) >= 0)
			p++;
		if (p < end && *p == '_' && p - g > 2)
			return true;
	}
	return false;
}

bool cp_rustname_is_plain(const char *s, size_t len)
{
	const char *u = s;

	while ((u = memchr(u, 'u', (size_t)(s + len - u))) && !is_digit(u[1]))
		u++;
	if (!u && !may_bind_many(s, len))
		return true;
	return len <= CP_RUSTNAME_MAX && walk_all(s, len);
}
