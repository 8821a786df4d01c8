/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the files in which the kernel tells of a thread of this process, /proc/self/task/TID/FILE.
 * Any context: no lock, no memory. Each call opens the file, reads it, and closes it.
 */
#ifndef CP_THREAD_FILE_H
#define CP_THREAD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CP_THREAD_FILE_PATH 64

/* Writes the path of FILE of the calling thread to TO, and returns TO. Not /proc/self/FILE, most of
 * which is empty once main has left through pthread_exit. /proc/thread-self/FILE only where /proc
 * belongs to another pid namespace, in which the thread has another number: where a sandbox (proot)
 * makes the program's system calls, thread-self is the tracer's. */
const char *cp_thread_file_path(char to[CP_THREAD_FILE_PATH], const char *file);
/* Opens FILE of the calling thread, to be read. Returns the descriptor, or a negative errno. */
int cp_thread_file_open(const char *file);

/* Reads the first SIZE - 1 bytes of FILE into TEXT and ends them with NUL. Returns the number of
 * bytes, at least 1, or a negative errno: -ENOENT or -ESRCH if the thread has ended, -ENODATA if
 * the file is empty. TEXT is unchanged on failure. */
long cp_thread_file_read(int tid, const char *file, char *text, size_t size);

/* Reads the thread's name, without the newline, and fills all of NAME, of SIZE bytes, with NULs.
 * NAME is unchanged if the thread has ended. */
void cp_thread_file_name(int tid, char *name, size_t size);

/* Reads the end of the thread's status into TEXT: at least the last SIZE / 2 bytes. The numbers are
 * there, after a list of groups of any length. Returns false, with TEXT as it was or empty, if it
 * can't be read. */
bool cp_thread_file_status(int tid, char *text, size_t size);

/* Finds the number in BASE (10 or 16) of the line KEY of a status. KEY has the newline before it
 * and the blanks after it: "\nSigBlk:\t". Returns false if there is no such line. */
bool cp_thread_file_number(const char *status, const char *key, unsigned base, uint64_t *n);

#endif
