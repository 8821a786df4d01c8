/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of descriptors; see io_signal.h. */
#include "modes/io/signal/io_signal.h"

#include <fcntl.h>
#include <linux/major.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/sys.h"
#include "base/text.h"

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif
#define UNIX98_FIRST 136 /* majors of pseudo-terminals */
#define UNIX98_LAST 143

uint32_t cp_io_known[CP_IO_KNOWN];
int cp_io_owner;

static int option(int fd, int name)
{
	int value = -1;
	unsigned size = sizeof(value);

	return cp_sys5(SYS_getsockopt, fd, SOL_SOCKET, name, &value, &size) ? -1 : value;
}

static enum cp_io_kind socket_kind(int fd)
{
	int family = option(fd, SO_DOMAIN), type;

	if (family == AF_UNIX)
		return CP_IO_UNIX;
	if (family != AF_INET && family != AF_INET6)
		return CP_IO_SOCKET;
	type = option(fd, SO_TYPE);
	if (type == SOCK_DGRAM)
		return CP_IO_UDP;
	return type == SOCK_STREAM && option(fd, SO_PROTOCOL) == IPPROTO_TCP ? CP_IO_TCP
									     : CP_IO_SOCKET;
}

/* Descriptors of the kernel's own objects have a link that says which. */
static enum cp_io_kind object_kind(int fd)
{
	static const struct {
		const char *name;
		enum cp_io_kind kind;
	} objects[] = { { "anon_inode:[eventfd]", CP_IO_EVENTFD },
			{ "anon_inode:[timerfd]", CP_IO_TIMERFD },
			{ "anon_inode:[signalfd]", CP_IO_SIGNALFD },
			{ "anon_inode:[eventpoll]", CP_IO_EPOLL },
			{ "anon_inode:inotify", CP_IO_INOTIFY } };
	char link[48], target[64];
	long n;

	cp_text_format(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = cp_sys4(SYS_readlinkat, AT_FDCWD, link, target, sizeof(target));
	for (size_t i = 0; n > 0 && i < sizeof(objects) / sizeof(*objects); i++)
		if ((size_t)n == strlen(objects[i].name) &&
		    !memcmp(target, objects[i].name, (size_t)n))
			return objects[i].kind;
	return CP_IO_OTHER;
}

static enum cp_io_kind device_kind(unsigned major)
{
	bool tty = major == TTY_MAJOR || major == TTYAUX_MAJOR ||
		   (major >= UNIX98_FIRST && major <= UNIX98_LAST);

	return tty ? CP_IO_TTY : CP_IO_DEVICE;
}

static enum cp_io_kind kind_by(int fd, const struct cp_filestat *s)
{
	switch (s->mode & S_IFMT) {
	case S_IFREG: return CP_IO_FILE;
	case S_IFDIR: return CP_IO_DIRECTORY;
	case S_IFIFO: return CP_IO_PIPE;
	case S_IFSOCK: return socket_kind(fd);
	case S_IFCHR: return device_kind(s->major);
	case S_IFBLK: return CP_IO_BLOCK;
	default: return object_kind(fd);
	}
}

enum cp_io_kind cp_io_kind_ask(int fd)
{
	uint32_t before = (unsigned)fd < CP_IO_KNOWN ? cp_load_relaxed(&cp_io_known[fd]) : 0;
	struct cp_filestat s = { 0 };
	enum cp_io_kind kind;

	/* The program's call asks a file's server anyway. */
	if (fd < 0 || cp_filestat_read(fd, "", AT_EMPTY_PATH, true, &s) < 0)
		return CP_IO_NOTHING;
	kind = kind_by(fd, &s);
	/* A vfork's child shares the table, but not the descriptors. */
	if ((unsigned)fd < CP_IO_KNOWN && cp_sys_getpid() == cp_load_relaxed(&cp_io_owner))
		cp_cas_acqrel(&cp_io_known[fd], &before, before + (uint32_t)kind + 1);
	return kind;
}

void cp_io_kind_closed_all(unsigned first, unsigned last)
{
	for (unsigned fd = first; fd <= last && fd < CP_IO_KNOWN; fd++)
		cp_io_kind_closed((int)fd);
}
