/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes single lines to stderr; see base.h. */
#include "base/base.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <poll.h>

#include "base/atomic.h"
#include "base/start_data.h"
#include "base/sys.h"
#include "base/text.h"

bool (*cp_log_other_way)(const char *text, size_t n);
static bool silent;

static struct {
	bool known;
	uint64_t device, inode;
} standard_error CP_START_DATA;

void cp_log_begin(void)
{
	struct stat st;

	if (cp_sys2(SYS_fstat, 2, &st) < 0)
		return;
	standard_error.device = st.st_dev;
	standard_error.inode = st.st_ino;
	standard_error.known = true;
}

void cp_log_silence(bool on)
{
	cp_store_relaxed(&silent, on);
}

static bool is_terminal(int fd)
{
	char settings[256]; /* the kernel's struct termios */

	return cp_sys3(SYS_ioctl, fd, TCGETS, settings) >= 0;
}

/* Returns whether lines may go to FD. A file other than the one at the start may hold the
 * program's data or be a peer: a daemon that has closed 0 to 2 gets its next connection there. A
 * terminal is neither, and a file that is opened for appending is a log. */
static bool is_for_lines(int fd)
{
	struct stat st;

	if (cp_sys2(SYS_fstat, fd, &st) < 0)
		return false;
	if (standard_error.known && st.st_dev == standard_error.device &&
	    st.st_ino == standard_error.inode)
		return true;
	if (S_ISCHR(st.st_mode))
		return is_terminal(fd);
	return S_ISREG(st.st_mode) && (cp_sys3(SYS_fcntl, fd, F_GETFL, 0) & O_APPEND) != 0;
}

/* Returns whether FD accepts a line now. A full pipe whose reader doesn't read must not block the
 * profiler, which may hold the collector's lock. */
static bool takes_a_line(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	struct timespec now = { 0, 0 };

	return cp_sys5(SYS_ppoll, &p, 1, &now, NULL, 0) == 1 && (p.revents & POLLOUT);
}

void cp_log_put(int fd, const char *text, size_t n)
{
	if (is_for_lines(fd) && takes_a_line(fd))
		cp_fdwrite_all(fd, text, n, false);
}

/* A line may have a path in it that somebody else has named. Nothing in it may drive the terminal.
 */
static void make_harmless(char *line, size_t n)
{
	bool safe;

	for (size_t at = 0, length; at < n; at += length) {
		length = cp_text_character(line + at, n - at, &safe);
		length += !length;
		if (!safe)
			memset(line + at, '?', length);
	}
}

void cp_log(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	size_t n = cp_text_format(line, sizeof(line), "libcprof: ");

	va_start(ap, fmt);
	n += cp_text_vformat(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	make_harmless(line, n);
	line[n++] = '\n';
	if (cp_load_relaxed(&silent))
		return;
	if (!cp_log_other_way || !cp_log_other_way(line, n))
		cp_log_put(2, line, n);
}

/* Used instead of libc's strerror, which may allocate and depends on the locale. Covers the errors
 * of opening, writing and renaming a file, and of creating a thread or a timer. */
const char *cp_log_errno_text(int err)
{
	switch (err < 0 ? -err : err) {
	case EPERM: return "EPERM: operation not permitted";
	case E2BIG: return "E2BIG: too many threads";
	case ENOENT: return "ENOENT: no such file or directory";
	case EIO: return "EIO: input/output error";
	case EAGAIN: return "EAGAIN: a resource limit is reached";
	case ENOMEM: return "ENOMEM: out of memory";
	case EACCES: return "EACCES: permission denied";
	case EEXIST: return "EEXIST: file exists";
	case ENOTDIR: return "ENOTDIR: a part of the path is not a directory";
	case EISDIR: return "EISDIR: the path is a directory";
	case EINVAL: return "EINVAL: invalid argument";
	case ENFILE: return "ENFILE: too many open files in the system";
	case EMFILE: return "EMFILE: too many open files";
	case EFBIG: return "EFBIG: file size limit reached";
	case ENOSPC: return "ENOSPC: no space left on device";
	case EROFS: return "EROFS: read-only file system";
	case ENAMETOOLONG: return "ENAMETOOLONG: file name too long";
	case ENOSYS: return "ENOSYS: not offered by this kernel";
	case ELOOP: return "ELOOP: too many symbolic links";
	case ESTALE: return "ESTALE: the directory is gone";
	case EDQUOT: return "EDQUOT: disk quota exceeded";
	case ETIMEDOUT: return "ETIMEDOUT: timed out";
	default: return "an unexpected error";
	}
}

const char *cp_log_errno_advice(int err)
{
	switch (err < 0 ? -err : err) {
	case ENOSPC:
	case EDQUOT: return "free some space, or give a path on another disk";
	case EPERM:
	case EACCES: return "give a path in a directory that this process may write to";
	case ESTALE: return "give an absolute path";
	case EROFS: return "give a path on a disk that can be written to";
	case ENOENT: return "make its directory first, or give another path";
	case ENOTDIR:
	case EISDIR:
	case EINVAL:
	case ELOOP:
	case ENAMETOOLONG: return "give the path of a plain file";
	case ENFILE:
	case EMFILE: return "raise `ulimit -n`";
	case EFBIG: return "raise `ulimit -f`";
	case EAGAIN: return "raise `ulimit -u`, or the container's limit of processes";
	case ENOMEM: return "raise `ulimit -v`, or the container's limit of memory";
	case EIO: return "look at the disk: the kernel's log says what is wrong with it";
	default: return "give another path, or run with CPROF_VERBOSE=1";
	}
}
