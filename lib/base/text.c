/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats and parses text in a fixed buffer. Called from every plane; see text.h. */
#include "base/text.h"

#include <errno.h>

struct out {
	char *to;
	size_t size, len;
};

struct spec {
	bool zero, precise;
	int width, precision, longs;
};

static void put_char(struct out *o, char c)
{
	if (o->len + 1 < o->size)
		o->to[o->len++] = c;
}

static void put_number(struct out *o, const struct spec *s, uint64_t v, unsigned base, bool minus)
{
	char digits[24];
	int n = 0;

	do {
		digits[n++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	for (int pad = s->width - n - minus; !s->zero && pad > 0; pad--)
		put_char(o, ' ');
	if (minus)
		put_char(o, '-');
	for (int pad = s->width - n - minus; s->zero && pad > 0; pad--)
		put_char(o, '0');
	while (n)
		put_char(o, digits[--n]);
}

static void put_string(struct out *o, const struct spec *s, const char *str)
{
	int n = 0;

	if (!str)
		str = "(null)";
	while ((!s->precise || n < s->precision) && str[n])
		n++;
	for (int pad = s->width - n; pad > 0; pad--)
		put_char(o, ' ');
	for (int i = 0; i < n; i++)
		put_char(o, str[i]);
}

static const char *parse_spec(const char *f, struct spec *s, va_list *ap)
{
	*s = (struct spec){ 0 };
	if (*f == '0') {
		s->zero = true;
		f++;
	}
	for (; *f >= '0' && *f <= '9'; f++)
		s->width = s->width * 10 + (*f - '0');
	if (f[0] == '.' && f[1] == '*') {
		s->precise = true;
		s->precision = va_arg(*ap, int);
		f += 2;
	}
	for (; *f == 'l' || *f == 'z'; f++)
		s->longs++;
	return f;
}

static uint64_t unsigned_arg(const struct spec *s, va_list *ap)
{
	return s->longs ? va_arg(*ap, unsigned long) : va_arg(*ap, unsigned int);
}

static void put_signed(struct out *o, const struct spec *s, va_list *ap)
{
	int64_t v = s->longs ? va_arg(*ap, long) : va_arg(*ap, int);

	put_number(o, s, v < 0 ? -(uint64_t)v : (uint64_t)v, 10, v < 0);
}

size_t cp_text_vformat(char *to, size_t size, const char *fmt, va_list args)
{
	struct out o = { to, size, 0 };
	struct spec s;
	va_list ap;

	va_copy(ap, args);
	for (const char *f = fmt; *f; f++) {
		if (*f != '%') {
			put_char(&o, *f);
			continue;
		}
		f = parse_spec(f + 1, &s, &ap);
		switch (*f) {
		case 's': put_string(&o, &s, va_arg(ap, const char *)); break;
		case 'c': put_char(&o, (char)va_arg(ap, int)); break;
		case 'd':
		case 'i': put_signed(&o, &s, &ap); break;
		case 'u': put_number(&o, &s, unsigned_arg(&s, &ap), 10, false); break;
		case 'x': put_number(&o, &s, unsigned_arg(&s, &ap), 16, false); break;
		default: put_char(&o, *f);
		}
		if (!*f)
			break;
	}
	va_end(ap);
	if (size)
		to[o.len] = '\0';
	return o.len;
}

size_t cp_text_format(char *to, size_t size, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = cp_text_vformat(to, size, fmt, ap);
	va_end(ap);
	return n;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

int cp_text_parse_u64(const char **s, unsigned base, uint64_t *value)
{
	const char *p = *s;
	uint64_t v = 0;

	if (digit_of(*p) >= (int)base)
		return -EINVAL;
	for (; digit_of(*p) < (int)base; p++)
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit_of(*p), &v))
			return -ERANGE;
	*s = p;
	*value = v;
	return 0;
}

/* ---- characters ---- */

/* First bytes of UTF-8 characters, and bounds of their second byte. */
static const struct {
	unsigned char first, last, low, high, length;
} kinds[] = {
	{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

static bool is_safe(uint32_t c)
{
	return c >= 0xa0 && c != 0x61c && c != 0x200e && c != 0x200f &&
	       (c < 0x2028 || c > 0x202e) && (c < 0x2066 || c > 0x2069);
}

unsigned cp_text_character(const char *s, size_t n, bool *safe)
{
	const unsigned char *u = (const unsigned char *)s;
	unsigned k = 0, i;
	uint32_t c;

	*safe = (*u >= ' ' && *u < 0x7f) || *u == '\t';
	if (*u < 0x80)
		return 1;
	while (k < sizeof(kinds) / sizeof(*kinds) && (*u < kinds[k].first || *u > kinds[k].last))
		k++;
	if (k == sizeof(kinds) / sizeof(*kinds))
		return 1;
	c = *u & (0x7fu >> kinds[k].length);
	for (i = 1; i < kinds[k].length; i++) {
		if (i == n)
			return 0;
		if ((u[i] & 0xc0) != 0x80 ||
		    (i == 1 && (u[i] < kinds[k].low || u[i] > kinds[k].high)))
			return 1;
		c = c << 6 | (u[i] & 0x3f);
	}
	*safe = is_safe(c);
	return i;
}
