/* SPDX-License-Identifier: BSD-3-Clause */
/* Matches a list of globs; see base.h. Time is bounded by pattern length times text length,
 * because only the last star is ever retried. */
#include "base/base.h"

/* Returns the address after the closing bracket of the set at P, or NULL. A bracket that comes
 * first in its set is a member, not the end. */
static const char *set_end(const char *p, const char *end)
{
	p++;
	if (p < end && *p == '!')
		p++;
	for (const char *first = p; p < end; p++)
		if (*p == ']' && p > first)
			return p + 1;
	return NULL;
}

static bool in_set(const char *p, const char *end, unsigned char c)
{
	bool invert = p[1] == '!', found = false;

	for (p += invert ? 2 : 1, end--; p < end; p++) {
		unsigned char low = (unsigned char)p[0], high = low;

		if (p + 2 < end && p[1] == '-') {
			high = (unsigned char)p[2];
			p += 2;
		}
		found |= c >= low && c <= high;
	}
	return found != invert;
}

/* Matches one pattern item at *P (not a star) against C, and moves *P past the item on success. */
static bool match_one(const char **p, const char *end, char c)
{
	const char *close = **p == '[' ? set_end(*p, end) : NULL;

	if (close) {
		if (!in_set(*p, close, (unsigned char)c))
			return false;
		*p = close;
		return true;
	}
	if (**p != '?' && **p != c)
		return false;
	++*p;
	return true;
}

static bool match(const char *p, const char *end, const char *text)
{
	const char *star = NULL, *retry = NULL;

	if (p == end)
		return false;
	for (;;) {
		if (p < end && *p == '*') {
			star = ++p;
			retry = text;
		} else if (*text && p < end && match_one(&p, end, *text)) {
			text++;
		} else if (!*text && p == end) {
			return true;
		} else if (star && *retry) {
			p = star;
			text = ++retry;
		} else {
			return false;
		}
	}
}

bool cp_globs_match(const char *globs, const char *text)
{
	for (const char *p = globs;; p++) {
		const char *end = p;

		while (*end && *end != ',')
			end++;
		if (match(p, end, text))
			return true;
		if (!*end)
			return false;
		p = end;
	}
}
