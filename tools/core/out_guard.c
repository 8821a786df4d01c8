/* SPDX-License-Identifier: BSD-3-Clause */
/* The only way of text to a terminal: stdout and stderr of every verb go through here, so that
 * nothing that a file or another process says can drive the terminal, wherever it is printed.
 * Control characters, C1 controls, marks that reorder the text and ill-formed UTF-8 become "?".
 * Colours of our own come as marks that nobody else knows; see ct_out_guard_paint.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/text.h"
#include "core/core.h"

/* Length of a mark: ESC, random letters, and a digit for the paint. */
#define MARK 18
/* Most bytes of an unfinished character or mark at the end of a write. */
#define HELD MARK
#define BUFFER ((size_t)64 << 10)

#ifdef CP_CORE_OUT_MUSL_H
FILE *ct_out_guarded[2];
#endif

struct guard {
	int fd;
	char held[HELD];
	size_t count; /* number of bytes in HELD that wait for the following ones */
};

static struct guard guards[2] = { { .fd = STDOUT_FILENO }, { .fd = STDERR_FILENO } };
static char marks[CT_PAINTS][MARK + 1];

static const char *const codes[CT_PAINTS] = {
	[CT_PLAIN] = "\033[0m", [CT_BOLD] = "\033[1m",	 [CT_DIM] = "\033[2m",
	[CT_RED] = "\033[31m",	[CT_GREEN] = "\033[32m", [CT_YELLOW] = "\033[33m",
};

const char *ct_out_guard_paint(enum ct_out_paint paint)
{
	unsigned char random[MARK - 2];

	if (!*marks[0]) {
		if (getrandom(random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
			return "";
		for (int p = 0; p < CT_PAINTS; p++) {
			marks[p][0] = '\033';
			for (size_t i = 0; i < sizeof(random); i++)
				marks[p][1 + i] = (char)('A' + random[i] % 32);
			marks[p][MARK - 1] = (char)('0' + p);
		}
	}
	return marks[paint];
}

/* Returns the escape sequence of the mark at S, of N bytes, or NULL. Sets *SHORT if more bytes may
 * make a mark of it. */
static const char *code_of(const char *s, size_t n, bool *is_short)
{
	*is_short = false;
	for (int p = 0; p < CT_PAINTS && *marks[p]; p++) {
		if (n >= MARK && !memcmp(s, marks[p], MARK))
			return codes[p];
		*is_short |= n < MARK && !memcmp(s, marks[p], n);
	}
	return NULL;
}

/* Are all eight bytes from 0x20 to 0x7e? It may say no for nothing. */
static bool are_plain(const char *s)
{
	uint64_t w, ones = UINT64_C(0x0101010101010101);

	memcpy(&w, s, sizeof(w));
	return !((w | (w + ones) | (w - ones * ' ')) & ones * 0x80);
}

/* Returns how many of the N bytes at S are letters of ASCII or end a line, which may be shown. */
static size_t plain_bytes(const char *s, size_t n)
{
	size_t i = 0;

	while (i + 8 <= n && are_plain(s + i))
		i += 8;
	while (i < n && ((unsigned char)(s[i] - ' ') < 0x7f - ' ' || s[i] == '\n'))
		i++;
	return i;
}

/* Writes to TO what may be shown of the N bytes at S, of which *USED were looked at: an unfinished
 * character at the end is left, unless LAST. */
static size_t clean(char *to, const char *s, size_t n, size_t *used, bool last)
{
	size_t at = 0, length, put = 0;
	bool safe, is_short;

	for (; at < n; at += length) {
		const char *code;

		length = plain_bytes(s + at, n - at);
		if (length) {
			memmove(to + put, s + at, length);
			put += length;
			continue;
		}
		code = s[at] == '\033' ? code_of(s + at, n - at, &is_short) : NULL;

		if (code) {
			length = MARK;
			put += (size_t)(stpcpy(to + put, code) - (to + put));
			continue;
		}
		if (s[at] == '\033' && is_short && !last)
			break;
		length = cp_text_character(s + at, n - at, &safe);
		if (!length && !last)
			break;
		length += !length;
		if (safe || !s[at]) {
			memmove(to + put, s + at, length);
			put += length;
		} else {
			to[put++] = '?';
		}
	}
	*used = at;
	return put;
}

size_t ct_out_guard_clean(char *text, size_t n)
{
	return clean(text, text, n, &n, true);
}

static bool write_all(int fd, const char *data, size_t n)
{
	while (n) {
		ssize_t done = write(fd, data, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		data += done;
		n -= (size_t)done;
	}
	return true;
}

static ssize_t put_data(void *cookie, const char *data, size_t size)
{
	struct guard *g = cookie;
	size_t n = g->count + size, used, shown;
	char *all = ct_memory_alloc(2 * n + 1), *to = all + n;
	bool done;

	memcpy(all, g->held, g->count);
	memcpy(all + g->count, data, size);
	shown = clean(to, all, n, &used, false);
	g->count = n - used;
	memcpy(g->held, all + used, g->count);
	done = write_all(g->fd, to, shown);
	free(all);
	return done ? (ssize_t)size : 0;
}

void ct_out_guard(void)
{
	const cookie_io_functions_t functions = { .write = put_data };
	static char buffer[BUFFER];
	FILE *out = fopencookie(&guards[0], "w", functions),
	     *err = fopencookie(&guards[1], "w", functions);

	if (!out || !err)
		abort();
	setvbuf(out, buffer, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, sizeof(buffer));
	/* A line is one system call, not one for each of its characters. */
	setvbuf(err, NULL, _IOLBF, BUFSIZ);
	stdout = out;
	stderr = err;
}

FILE *ct_out_guard_past(void)
{
	static FILE *past;

	fflush(stdout);
	if (!past)
		past = fdopen(STDOUT_FILENO, "w");
	return past ? past : stdout;
}

/* The text goes through the guard; what moves the cursor does not, since the guard would replace
 * it.
 */
void ct_out_guard_progress(const char *text)
{
	static bool shown;

	if (text ? !isatty(STDERR_FILENO) : !shown)
		return;
	fflush(stderr);
	dprintf(STDERR_FILENO, "\r");
	fputs(text ? text : "", stderr);
	fflush(stderr);
	dprintf(STDERR_FILENO, "\033[K");
	shown = text != NULL;
}
