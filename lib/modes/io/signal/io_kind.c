/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of descriptors; see io_signal.h. */
#include "modes/io/signal/io_signal.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/sys.h"
#include "base/text.h"

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

uint32_t cp_io_known[CP_IO_KNOWN];
int cp_io_owner;

static int option(int fd, int name)
{
	int value = -1;
	unsigned size = sizeof(value);

	return cp_sys5(SYS_getsockopt, fd, SOL_SOCKET, name, &value, &size) ? -1 : value;
}

static enum cp_fd_kind socket_kind(int fd)
{
	int family = option(fd, SO_DOMAIN), type;

	if (family == AF_UNIX)
		return CP_FD_UNIX;
	if (family != AF_INET && family != AF_INET6)
		return CP_FD_SOCKET;
	type = option(fd, SO_TYPE);
	if (type == SOCK_DGRAM)
		return CP_FD_UDP;
	return type == SOCK_STREAM && option(fd, SO_PROTOCOL) == IPPROTO_TCP ? CP_FD_TCP
									     : CP_FD_SOCKET;
}

static enum cp_fd_kind kind_by(int fd, const struct cp_filestat *s)
{
	enum cp_fd_kind kind;
	char link[48];

	cp_text_format(link, sizeof(link), "/proc/self/fd/%d", fd);
	kind = cp_filestat_kind(s, link);
	return kind == CP_FD_SOCKET ? socket_kind(fd) : kind;
}

enum cp_fd_kind cp_io_kind_ask(int fd)
{
	uint32_t before = (unsigned)fd < CP_IO_KNOWN ? cp_load_relaxed(&cp_io_known[fd]) : 0;
	struct cp_filestat s = { 0 };
	enum cp_fd_kind kind;

	/* The program's call asks a file's server anyway. */
	if (fd < 0 || cp_filestat_read(fd, "", AT_EMPTY_PATH, true, &s) < 0)
		return CP_FD_NOTHING;
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
