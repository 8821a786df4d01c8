/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks what a file is; see base.h. */
#include "base/base.h"

#include <errno.h>
#include <linux/major.h>
#include <linux/stat.h>
#include <string.h>

#include "base/sys.h"

#ifndef AT_STATX_DONT_SYNC
#define AT_STATX_DONT_SYNC 0x4000
#endif
#define UNIX98_FIRST 136 /* majors of pseudo-terminals */
#define UNIX98_LAST 143

/* Returns 0 or a negative errno. */
static long by_fstatat(int dir, const char *path, int flags, struct cp_filestat *to)
{
	struct stat s;
	long err = cp_sys4(SYS_newfstatat, dir, path, &s, flags);

	if (!err)
		*to = (struct cp_filestat){ s.st_mode, (unsigned)(s.st_rdev >> 8) & 0xfff,
					    s.st_ino };
	return err;
}

static long by_statx(int dir, const char *path, int flags, struct cp_filestat *to)
{
	struct statx x;
	long err = cp_sys5(SYS_statx, dir, path, flags, STATX_TYPE | STATX_INO, &x);

	if (!err)
		*to = (struct cp_filestat){ x.stx_mode, x.stx_rdev_major, x.stx_ino };
	return err;
}

/* Some sandboxes refuse statx. Kernels that have statx know the flag in fstatat, too. */
long cp_filestat_read(int dir, const char *path, int flags, bool may_wait, struct cp_filestat *to)
{
	long err = by_statx(dir, path, flags | AT_STATX_DONT_SYNC, to);

	if (err == -ENOSYS || err == -EPERM)
		err = by_fstatat(dir, path, flags | AT_STATX_DONT_SYNC, to);
	if (err == -EINVAL && may_wait)
		err = by_fstatat(dir, path, flags, to);
	return err;
}

static enum cp_fd_kind device_kind(unsigned major)
{
	bool tty = major == TTY_MAJOR || major == TTYAUX_MAJOR ||
		   (major >= UNIX98_FIRST && major <= UNIX98_LAST);

	return tty ? CP_FD_TTY : CP_FD_DEVICE;
}

static enum cp_fd_kind object_kind(const char *link)
{
	static const struct {
		const char *name;
		enum cp_fd_kind kind;
	} objects[] = { { "anon_inode:[eventfd]", CP_FD_EVENTFD },
			{ "anon_inode:[timerfd]", CP_FD_TIMERFD },
			{ "anon_inode:[signalfd]", CP_FD_SIGNALFD },
			{ "anon_inode:[eventpoll]", CP_FD_EPOLL },
			{ "anon_inode:inotify", CP_FD_INOTIFY } };
	char target[64] = "";

	cp_sys4(SYS_readlinkat, AT_FDCWD, link, target, sizeof(target) - 1);
	for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++)
		if (!memcmp(target, objects[i].name, strlen(objects[i].name)))
			return objects[i].kind;
	return CP_FD_OTHER;
}

enum cp_fd_kind cp_filestat_kind(const struct cp_filestat *s, const char *link)
{
	switch (s->mode & S_IFMT) {
	case S_IFREG: return CP_FD_FILE;
	case S_IFDIR: return CP_FD_DIRECTORY;
	case S_IFIFO: return CP_FD_PIPE;
	case S_IFSOCK: return CP_FD_SOCKET;
	case S_IFCHR: return device_kind(s->major);
	case S_IFBLK: return CP_FD_BLOCK;
	default: return object_kind(link);
	}
}

const char *cp_filestat_kind_name(unsigned kind)
{
	static const char names[CP_FD_KINDS][10] = {
		[CP_FD_NOTHING] = "",	     [CP_FD_FILE] = "file",
		[CP_FD_PIPE] = "pipe",	     [CP_FD_UNIX] = "unix",
		[CP_FD_TCP] = "tcp",	     [CP_FD_UDP] = "udp",
		[CP_FD_SOCKET] = "socket",   [CP_FD_TTY] = "tty",
		[CP_FD_DEVICE] = "device",   [CP_FD_DIRECTORY] = "directory",
		[CP_FD_BLOCK] = "block",     [CP_FD_EVENTFD] = "eventfd",
		[CP_FD_TIMERFD] = "timerfd", [CP_FD_SIGNALFD] = "signalfd",
		[CP_FD_EPOLL] = "epoll",     [CP_FD_INOTIFY] = "inotify",
		[CP_FD_OTHER] = "other",     [CP_FD_PATH] = "path",
	};

	return kind < CP_FD_KINDS ? names[kind] : "";
}
