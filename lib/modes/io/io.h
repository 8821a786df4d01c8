/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/io/, by the file that implements them. */
#ifndef CP_MODES_IO_IO_H
#define CP_MODES_IO_IO_H

#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/libc.h"
#include "output/output.h"

/* io_names.c
 *
 * Names of ops, kinds and errors, as they are in labels and comments.
 */

const char *cp_io_names_op(unsigned op);
/* "" for CP_FD_NOTHING. */
/* "ENOENT"; for a number without a well-known name the number, in BUFFER. */
const char *cp_io_names_error(unsigned error, char *buffer, size_t size);

/* io.c
 *
 * The originals of the functions that the I/O mode interposes; see host/real.h.
 */

/* clang-format off */
/* Each as X(minor version of glibc since which it is there, 0: always, result, name, parameters). */
#define CP_IO_REAL_FUNCTIONS(X) \
	X(0, int, open, (const char *, int, ...)) \
	X(0, ssize_t, read, (int, void *, size_t)) \
	X(0, int, close, (int)) \
	X(0, ssize_t, write, (int, const void *, size_t)) \
	X(0, ssize_t, pread, (int, void *, size_t, off_t)) \
	X(0, ssize_t, pread64, (int, void *, size_t, off64_t)) \
	X(0, ssize_t, pwrite, (int, const void *, size_t, off_t)) \
	X(0, ssize_t, pwrite64, (int, const void *, size_t, off64_t)) \
	X(0, ssize_t, readv, (int, const struct iovec *, int)) \
	X(0, ssize_t, writev, (int, const struct iovec *, int)) \
	X(0, ssize_t, preadv, (int, const struct iovec *, int, off_t)) \
	X(0, ssize_t, preadv64, (int, const struct iovec *, int, off64_t)) \
	X(0, ssize_t, pwritev, (int, const struct iovec *, int, off_t)) \
	X(0, ssize_t, pwritev64, (int, const struct iovec *, int, off64_t)) \
	X(26, ssize_t, preadv2, (int, const struct iovec *, int, off_t, int)) \
	X(26, ssize_t, preadv64v2, (int, const struct iovec *, int, off64_t, int)) \
	X(26, ssize_t, pwritev2, (int, const struct iovec *, int, off_t, int)) \
	X(26, ssize_t, pwritev64v2, (int, const struct iovec *, int, off64_t, int)) \
	X(0, ssize_t, __read_chk, (int, void *, size_t, size_t)) \
	X(0, ssize_t, __pread_chk, (int, void *, size_t, off_t, size_t)) \
	X(0, ssize_t, __pread64_chk, (int, void *, size_t, off64_t, size_t)) \
	X(0, int, fsync, (int)) \
	X(0, int, fdatasync, (int)) \
	X(0, int, sync_file_range, (int, off64_t, off64_t, unsigned)) \
	X(27, ssize_t, copy_file_range, (int, off64_t *, int, off64_t *, size_t, unsigned)) \
	X(0, ssize_t, sendfile, (int, int, off_t *, size_t)) \
	X(0, ssize_t, sendfile64, (int, int, off64_t *, size_t)) \
	X(0, ssize_t, splice, (int, off64_t *, int, off64_t *, size_t, unsigned)) \
	X(0, ssize_t, tee, (int, int, size_t, unsigned)) \
	X(0, ssize_t, vmsplice, (int, const struct iovec *, size_t, unsigned)) \
	X(30, ssize_t, getdents64, (int, void *, size_t)) \
	X(0, struct dirent *, readdir, (DIR *)) \
	X(0, struct dirent64 *, readdir64, (DIR *)) \
	X(0, DIR *, opendir, (const char *)) \
	X(0, int, closedir, (DIR *)) \
	X(0, FILE *, fopen, (const char *, const char *)) \
	X(0, FILE *, fopen64, (const char *, const char *)) \
	X(0, int, fclose, (FILE *)) \
	X(0, FILE *, freopen, (const char *, const char *, FILE *)) \
	X(0, FILE *, freopen64, (const char *, const char *, FILE *)) \
	X(0, int, pclose, (FILE *)) \
	X(0, int, dup2, (int, int)) \
	X(0, int, dup3, (int, int, int)) \
	X(34, void, closefrom, (int)) \
	X(0, int, open64, (const char *, int, ...)) \
	X(0, int, openat, (int, const char *, int, ...)) \
	X(0, int, openat64, (int, const char *, int, ...)) \
	X(0, int, creat, (const char *, mode_t)) \
	X(0, int, creat64, (const char *, mode_t)) \
	X(0, int, __open_2, (const char *, int)) \
	X(0, int, __open64_2, (const char *, int)) \
	X(0, int, __openat_2, (int, const char *, int)) \
	X(0, int, __openat64_2, (int, const char *, int)) \
	X(0, int, rename, (const char *, const char *)) \
	X(0, int, renameat, (int, const char *, int, const char *)) \
	X(28, int, renameat2, (int, const char *, int, const char *, unsigned)) \
	X(0, int, unlink, (const char *)) \
	X(0, int, unlinkat, (int, const char *, int)) \
	X(0, int, accept, (int, struct sockaddr *, socklen_t *)) \
	X(0, int, accept4, (int, struct sockaddr *, socklen_t *, int)) \
	X(0, int, connect, (int, const struct sockaddr *, socklen_t)) \
	X(0, ssize_t, recv, (int, void *, size_t, int)) \
	X(0, ssize_t, recvfrom, (int, void *, size_t, int, struct sockaddr *, socklen_t *)) \
	X(0, ssize_t, recvmsg, (int, struct msghdr *, int)) \
	X(0, int, recvmmsg, (int, struct mmsghdr *, unsigned, cp_libc_mmsg_flags, struct timespec *)) \
	X(0, ssize_t, __recv_chk, (int, void *, size_t, size_t, int)) \
	X(0, ssize_t, __recvfrom_chk, (int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *)) \
	X(0, ssize_t, send, (int, const void *, size_t, int)) \
	X(0, ssize_t, sendto, (int, const void *, size_t, int, const struct sockaddr *, socklen_t)) \
	X(0, ssize_t, sendmsg, (int, const struct msghdr *, int)) \
	X(0, int, sendmmsg, (int, struct mmsghdr *, unsigned, cp_libc_mmsg_flags)) \
	X(0, int, getaddrinfo, (const char *, const char *, const struct addrinfo *, struct addrinfo **)) \
	X(0, int, poll, (struct pollfd *, nfds_t, int)) \
	X(0, int, ppoll, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *)) \
	X(0, int, __poll_chk, (struct pollfd *, nfds_t, int, size_t)) \
	X(0, int, __ppoll_chk, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t)) \
	X(0, int, select, (int, fd_set *, fd_set *, fd_set *, struct timeval *)) \
	X(0, int, pselect, (int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *)) \
	X(0, int, epoll_wait, (int, struct epoll_event *, int, int)) \
	X(0, int, epoll_pwait, (int, struct epoll_event *, int, int, const sigset_t *)) \
	X(35, int, epoll_pwait2, (int, struct epoll_event *, int, const struct timespec *, const sigset_t *))
#define CP_IO_REAL_FIELD(since, type, name, parameters) type(*name) parameters;
struct cp_io_real { CP_IO_REAL_FUNCTIONS(CP_IO_REAL_FIELD) };
#undef CP_IO_REAL_FIELD
/* clang-format on */

/* Valid after cp_io_real_resolve; a function that libc lacks is NULL. */
extern struct cp_io_real cp_io_real __attribute__((visibility("hidden")));

/* Resolve all functions. Returns the number of functions not found. Idempotent. Ordinary context,
 * in the constructor at the latest. */
int cp_io_real_resolve(void);

/* The real NAME, resolved on first use. */
#define CP_IO_REAL(name)                                                                           \
	(cp_io_real.name ? cp_io_real.name : (cp_io_real_resolve(), cp_io_real.name))

/* io_rows.c
 *
 * Rows of the I/O mode's file, and its lines of comments. All under the collector's lock.
 */

/* Begin a run; all counts are 0. */
void cp_io_rows_start(void);
/* The same in a fork child. */
void cp_io_rows_fork_child(void);
/* Note that RECORD, a call of T, is a sample of its row. */
void cp_io_rows_record(struct cp_run *r, struct cp_thread *t, const struct cp_record *record);
/* Note the counts since the last call: the exact totals of each thread, op and kind. */
void cp_io_rows_tell(struct cp_run *r);
/* T has ended: note its last counts. */
void cp_io_rows_released(struct cp_run *r, struct cp_thread *t);
/* Make the rows of each thread, op and kind sum to the exact totals that were noted (profile.h). */
void cp_io_rows_settle(struct cp_run *r);
/* Member of its cp_mode_ops: the rows that are kept. */
void cp_io_rows_see(struct cp_run *r, void (*see)(uint32_t *row, void *arg), void *arg);
void cp_io_rows_labels(const struct cp_run *r, const struct cp_stack *s,
		       struct cp_encode_labels *to);
/* Add a line for each op and kind, the one with the most delay first. */
void cp_io_rows_count(const struct cp_run *r, struct cp_vec *to);
void cp_io_rows_report(struct cp_comments *out, const struct cp_run *r);
/* Return TICKS of R's clock in ns. */
uint64_t cp_io_rows_ns(const struct cp_run *r, uint64_t ticks);

/* io.c
 *
 * The I/O mode's settings.
 */

struct cp_io_settings {
	int target;  /* CPROF_IO_TARGET: enum cp_io_target */
	bool wakers; /* CPROF_IO_WAKERS: who ended the reads of pipes and eventfds */
};

struct cp_config_mode;

/* The table: variables, options, defaults. */
extern const struct cp_config_mode cp_io_settings;

#endif
