/* A text file's lines, one after the other, through a buffer of our own pages and raw system calls:
 * /proc/kallsyms, /tmp/perf-PID.map. The drain's or a dump's thread.
 */
#ifndef CP_LINES_H
#define CP_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* false: no more are wanted. The line has no newline, and LENGTH bytes before its NUL. */
typedef bool cp_line_taker(void *to, const char *line, size_t length);

/* Give TAKE the lines from where FD stands. What stands behind the last newline is none; where one
 * has 64 KiB or more, pieces of it are passed over, and its rest is a line. 0, -ENOMEM, or why the
 * file could not be read. */
int cp_lines_read(int fd, cp_line_taker *take, void *to);

#endif
