/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a profile's text inside a page or picture. The text may come from anybody, so every
 * character of markup is escaped.
 */
#include <string.h>

#include "flame/flame.h"

/* The smallest code point for a sequence of N bytes; smaller ones must use fewer bytes. */
static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

size_t ct_flame_text_letter(const char *text, size_t length, uint32_t *letter)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = s[0] < 0x80		   ? 1
		   : (s[0] & 0xe0) == 0xc0 ? 2
		   : (s[0] & 0xf0) == 0xe0 ? 3
		   : (s[0] & 0xf8) == 0xf0 ? 4
					   : 0;
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7f >> n);

	*letter = 0xfffd;
	if (n == 0 || n > length)
		return 1;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 1;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 1;
	*letter = c;
	return n;
}

/* Returns true for a character that XML 1.0 can't hold, or that changes the direction of the text
 * around it. */
static bool is_unprintable(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0xfffe || c == 0xffff;
}

void ct_flame_text_markup(FILE *to, const char *text, size_t length)
{
	size_t n;

	for (size_t i = 0; i < length; i += n) {
		uint32_t letter;

		n = ct_flame_text_letter(text + i, length - i, &letter);
		if (is_unprintable(letter) || letter == 0xfffd)
			fputs("\xef\xbf\xbd", to);
		else if (strchr("<>&\"'", letter < 0x80 ? (int)letter : 'x'))
			fprintf(to, "&#%u;", letter);
		else
			fwrite(text + i, 1, n, to);
	}
}

void ct_flame_text_json(FILE *to, const char *text)
{
	size_t n, length = strlen(text);

	fputc('"', to);
	for (size_t i = 0; i < length; i += n) {
		uint32_t letter;

		n = ct_flame_text_letter(text + i, length - i, &letter);
		if (letter == 0xfffd)
			fputs("\\ufffd", to);
		else if (letter < 0x20 || letter == 0x7f || letter == 0x2028 || letter == 0x2029 ||
			 (letter < 0x80 && strchr("<>&\"'\\", letter)))
			fprintf(to, "\\u%04x", letter);
		else
			fwrite(text + i, 1, n, to);
	}
	fputc('"', to);
}

char *ct_flame_text_shorter(const char *name, int step)
{
	const char *tail = strstr(name, "operator");
	size_t head = tail ? (size_t)(tail - name) : strlen(name), n = 0, from = 0;
	char *text = ct_memory_alloc(strlen(name) + 1);
	unsigned depth = 0;

	for (size_t i = 0; i < head; i++) {
		depth += name[i] == '<';
		if (depth == 0)
			text[n++] = name[i];
		depth -= name[i] == '>' && depth > 0;
	}
	for (size_t i = 0; step > 1 && i + 1 < n; i++)
		if ((text[i] == '/' || (i > 0 && text[i] == ':' && text[i - 1] == ':')))
			from = i + 1;
	if (step > 1 && tail)
		from = n;
	memmove(text, text + from, n - from);
	strcpy(text + n - from, tail ? tail : "");
	return text;
}
