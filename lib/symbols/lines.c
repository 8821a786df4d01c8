/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads lines; see symbols.h. */
#include "symbols/symbols.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"

#define BUFFER ((size_t)64 << 10)

/* Pass on the complete lines of the N bytes at BUFFER. Returns how many bytes they took. */
static size_t take_lines(char *buffer, size_t n, cp_line_taker *take, void *to, bool *enough)
{
	char *line = buffer, *end;

	while (!*enough && (end = memchr(line, '\n', n - (size_t)(line - buffer)))) {
		*end = '\0';
		*enough = !take(to, line, (size_t)(end - line));
		line = end + 1;
	}
	return (size_t)(line - buffer);
}

int cp_lines_read(int fd, cp_line_taker *take, void *to)
{
	char *buffer = cp_sys_map(BUFFER);
	bool enough = false;
	size_t have = 0;
	long got = 0;

	if (!buffer)
		return -ENOMEM;
	while (!enough && (got = cp_sys_read(fd, buffer + have, BUFFER - 1 - have)) > 0) {
		size_t taken;

		have += (size_t)got;
		taken = take_lines(buffer, have, take, to, &enough);
		have -= taken;
		memmove(buffer, buffer + taken, have);
		/* The line is too long: drop this piece and treat the following bytes as a line. */
		if (have == BUFFER - 1)
			have = 0;
	}
	cp_sys_unmap(buffer, BUFFER);
	return got < 0 ? (int)got : 0;
}
