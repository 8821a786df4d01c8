/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a text file line by line, with raw system calls and a buffer in own pages: /proc/kallsyms,
 * /tmp/perf-PID.map. Runs on the thread of the drain or dump. */
#ifndef CP_LINES_H
#define CP_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* Called with a line without its newline, LENGTH bytes before its NUL. Returns false if no more
 * lines are wanted. */
typedef bool cp_line_taker(void *to, const char *line, size_t length);

/* Give TAKE the lines from FD's current position on. A trailing fragment without a newline is not a
 * line. A line of 64 KiB or more is skipped in pieces; its last piece is returned as a line.
 * Returns 0, -ENOMEM, or the error of reading the file. */
int cp_lines_read(int fd, cp_line_taker *take, void *to);

#endif
