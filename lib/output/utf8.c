/* SPDX-License-Identifier: BSD-3-Clause */
/* UTF-8 check and repair; see pprof.h. */
#include "output/pprof.h"

#include <string.h>

#define HIGH_BITS UINT64_C(0x8080808080808080)

/* The bytes that may follow a lead byte: their number, and the range of the first one. The range
 * excludes overlong forms, surrogates and values that are too high. */
struct lead {
	unsigned more;
	uint8_t low, high;
};

static struct lead lead_of(uint8_t c)
{
	if (c >= 0xc2 && c <= 0xdf)
		return (struct lead){ 1, 0x80, 0xbf };
	if (c == 0xe0)
		return (struct lead){ 2, 0xa0, 0xbf };
	if (c == 0xed)
		return (struct lead){ 2, 0x80, 0x9f };
	if (c >= 0xe1 && c <= 0xef)
		return (struct lead){ 2, 0x80, 0xbf };
	if (c == 0xf0)
		return (struct lead){ 3, 0x90, 0xbf };
	if (c >= 0xf1 && c <= 0xf3)
		return (struct lead){ 3, 0x80, 0xbf };
	if (c == 0xf4)
		return (struct lead){ 3, 0x80, 0x8f };
	return (struct lead){ 0, 0, 0 };
}

/* Returns the length of the character at S, or of the ill-formed part there (*VALID false). N >= 1.
 */
static size_t next_character(const uint8_t *s, size_t n, bool *valid)
{
	struct lead l;
	size_t i;

	*valid = s[0] < 0x80;
	if (*valid)
		return 1;
	l = lead_of(s[0]);
	for (i = 1; i <= l.more && i < n; i++) {
		uint8_t low = i == 1 ? l.low : 0x80, high = i == 1 ? l.high : 0xbf;

		if (s[i] < low || s[i] > high)
			break;
	}
	*valid = l.more && i == l.more + 1;
	return i;
}

/* Returns the length of the plain ASCII at S, in steps of eight bytes. */
static size_t ascii_words(const char *s, size_t n)
{
	size_t i = 0;

	for (uint64_t word; i + 8 <= n; i += 8) {
		memcpy(&word, s + i, 8);
		if (word & HIGH_BITS)
			break;
	}
	return i;
}

bool cp_utf8_valid(const char *s, size_t n)
{
	bool valid = true;

	for (size_t i = ascii_words(s, n); i < n && valid;)
		i += next_character((const uint8_t *)s + i, n - i, &valid);
	return valid;
}

size_t cp_utf8_repair(char *to, const char *s, size_t n)
{
	size_t out = 0, step;

	for (size_t i = 0; i < n; i += step) {
		bool valid;

		step = next_character((const uint8_t *)s + i, n - i, &valid);
		memcpy(to + out, valid ? s + i : "\xef\xbf\xbd", valid ? step : 3);
		out += valid ? step : 3;
	}
	return out;
}
