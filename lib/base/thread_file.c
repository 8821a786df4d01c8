/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a thread in /proc; see base.h. */
#include "base/base.h"

#include <errno.h>
#include <unistd.h>

#include "base/sys.h"
#include "base/text.h"

static void name_file(char path[CP_THREAD_FILE_PATH], int tid, const char *file)
{
	cp_text_format(path, CP_THREAD_FILE_PATH, "/proc/self/task/%d/%s", tid, file);
}

static int open_file(int tid, const char *file)
{
	char path[CP_THREAD_FILE_PATH];

	name_file(path, tid, file);
	return cp_sys_open(path, O_RDONLY, 0);
}

const char *cp_thread_file_path(char to[CP_THREAD_FILE_PATH], const char *file)
{
	name_file(to, cp_sys_gettid(), file);
	if (cp_sys3(SYS_faccessat, AT_FDCWD, to, F_OK) == -ENOENT)
		cp_text_format(to, CP_THREAD_FILE_PATH, "/proc/thread-self/%s", file);
	return to;
}

int cp_thread_file_open(const char *file)
{
	char path[CP_THREAD_FILE_PATH];
	int fd = open_file(cp_sys_gettid(), file);

	return fd == -ENOENT ? cp_sys_open(cp_thread_file_path(path, file), O_RDONLY, 0) : fd;
}

long cp_thread_file_read(int tid, const char *file, char *text, size_t size)
{
	int fd = open_file(tid, file);
	long got;

	if (fd < 0)
		return fd;
	got = cp_sys_read(fd, text, size - 1);
	cp_sys_close(fd);
	if (got > 0)
		text[got] = '\0';
	return got ? got : -ENODATA;
}

const char *cp_thread_file_stat(int tid, char *text, size_t size, int *err)
{
	long got = cp_thread_file_read(tid, "stat", text, size);
	const char *p;

	*err = got > 0 || got == -ENOENT || got == -ESRCH ? 0 : (int)got;
	if (got <= 0)
		return NULL;
	/* The name, in parentheses, may contain anything; the state follows the last parenthesis.
	 */
	for (p = text + got; p > text && p[-1] != ')'; p--)
		;
	return p > text && *p == ' ' ? p + 1 : NULL;
}

void cp_thread_file_name(int tid, char *name, size_t size)
{
	char text[32];
	long got = cp_thread_file_read(tid, "comm", text, sizeof(text));
	size_t n;

	if (got <= 0)
		return;
	n = (size_t)got - (text[got - 1] == '\n');
	n = n < size ? n : size - 1;
	memcpy(name, text, n);
	memset(name + n, 0, size - n);
}

bool cp_thread_file_status(int tid, char *text, size_t size)
{
	size_t kept = 0, half = size / 2;
	int fd = open_file(tid, "status");
	long got;

	if (fd < 0)
		return false;
	while ((got = cp_sys_read(fd, text + kept, size - 1 - kept)) > 0) {
		kept += (size_t)got;
		if (kept > half) {
			memmove(text, text + kept - half, half);
			kept = half;
		}
	}
	cp_sys_close(fd);
	text[kept] = '\0';
	return kept > 0;
}

bool cp_thread_file_number(const char *status, const char *key, unsigned base, uint64_t *n)
{
	size_t length = strlen(key), left = strlen(status);

	for (; left > length; status++, left--)
		if (!memcmp(status, key, length)) {
			status += length;
			return !cp_text_parse_u64(&status, base, n) && *status == '\n';
		}
	return false;
}
