/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* What an input or output call did (op), and on what (kind).
 *
 * The kind of a descriptor is asked of the kernel once and kept in a table, because asking takes as
 * long as a call. An entry is dropped when the program closes the descriptor by a function that the
 * mode sees. The kernel gives the number out again only afterwards, so an entry is wrong only if
 * both the close and the following open are unseen (system call instructions, libc's own calls).
 *
 * | call                | may run                                          |
 * |---------------------|--------------------------------------------------|
 * | cp_io_kind_of       | any context; errno stays                         |
 * | cp_io_kind_known    | any context                                      |
 * | cp_io_kind_closed   | any context, before the descriptor is closed     |
 */
/* clang-format on */
#ifndef CP_IO_KIND_H
#define CP_IO_KIND_H

#include <stdint.h>

#include "base/atomic.h"

/* The most frequent ops come first: their counters are in the same page. */
enum cp_io_op {
	CP_IO_READ,
	CP_IO_WRITE,
	CP_IO_RECV,
	CP_IO_SEND,
	CP_IO_POLL,
	CP_IO_OPEN,
	CP_IO_CLOSE,
	CP_IO_STAT,
	CP_IO_SYNC,
	CP_IO_ACCEPT,
	CP_IO_CONNECT,
	CP_IO_COPY,
	CP_IO_SENDFILE,
	CP_IO_SPLICE,
	CP_IO_READDIR,
	CP_IO_RENAME,
	CP_IO_UNLINK,
	CP_IO_RESOLVE,
	CP_IO_OPS
};

enum cp_io_kind {
	CP_IO_NOTHING, /* no descriptor, or a bad one */
	CP_IO_FILE,
	CP_IO_PIPE,
	CP_IO_UNIX,
	CP_IO_TCP,
	CP_IO_UDP,
	CP_IO_SOCKET, /* of another family or type */
	CP_IO_TTY,
	CP_IO_DEVICE,
	CP_IO_DIRECTORY,
	CP_IO_BLOCK,
	CP_IO_EVENTFD,
	CP_IO_TIMERFD,
	CP_IO_SIGNALFD,
	CP_IO_EPOLL,
	CP_IO_INOTIFY,
	CP_IO_OTHER,
	CP_IO_PATH, /* the call names a path; what is there isn't asked */
	CP_IO_KINDS
};

/* Descriptors below this number have an entry; the kind of others is asked for each call. */
#define CP_IO_KNOWN 65536u

/* Per descriptor: a count of closes in the high bits, and the kind plus 1 in the low 8 bits; 0
 * there = not asked yet. */
extern uint32_t cp_io_known[CP_IO_KNOWN] __attribute__((visibility("hidden")));
/* The pid of the process that the table describes. */
extern int cp_io_owner;

/* Ask the kernel for FD's kind and keep it. Any context. */
enum cp_io_kind cp_io_kind_ask(int fd);

/* FD's kind plus 1, if it was asked; 0. */
static inline unsigned cp_io_kind_known(int fd)
{
	return (unsigned)fd < CP_IO_KNOWN ? cp_load_relaxed(&cp_io_known[fd]) & 255u : 0;
}

static inline enum cp_io_kind cp_io_kind_of(int fd)
{
	unsigned known = cp_io_kind_known(fd);

	return __builtin_expect(known != 0, 1) ? (enum cp_io_kind)(known - 1) : cp_io_kind_ask(fd);
}

/* FD is about to be closed. An answer about it that is under way is then not kept. */
static inline void cp_io_kind_closed(int fd)
{
	if ((unsigned)fd < CP_IO_KNOWN && cp_load_relaxed(&cp_io_known[fd]))
		cp_store_relaxed(&cp_io_known[fd], (cp_load_relaxed(&cp_io_known[fd]) | 255u) + 1);
}
/* The same for all from FIRST to LAST. */
void cp_io_kind_closed_all(unsigned first, unsigned last);

#endif
