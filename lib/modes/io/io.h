/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/io/, by the file that implements them. */
#ifndef CP_MODES_IO_IO_H
#define CP_MODES_IO_IO_H

#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "output/output.h"
#include "output/pprof.h"
#include "sample/thread.h"

/* io_names.c
 *
 * Names of ops, kinds and errors, as they are in labels and comments.
 */

const char *cp_io_names_op(unsigned op);
/* "" for CP_FD_NOTHING. */
/* "ENOENT"; for a number without a well-known name the number, in BUFFER. */
const char *cp_io_names_error(unsigned error, char *buffer, size_t size);

/* io_real.c
 *
 * The originals of the functions that the I/O mode interposes; see host/real.h.
 */

struct cp_io_real {
	int (*open)(const char *, int, ...);
	ssize_t (*read)(int, void *, size_t);
	int (*close)(int);
	ssize_t (*write)(int, const void *, size_t);
	ssize_t (*pread)(int, void *, size_t, off_t);
	ssize_t (*pread64)(int, void *, size_t, off64_t);
	ssize_t (*pwrite)(int, const void *, size_t, off_t);
	ssize_t (*pwrite64)(int, const void *, size_t, off64_t);
	ssize_t (*readv)(int, const struct iovec *, int);
	ssize_t (*writev)(int, const struct iovec *, int);
	ssize_t (*preadv)(int, const struct iovec *, int, off_t);
	ssize_t (*preadv64)(int, const struct iovec *, int, off64_t);
	ssize_t (*pwritev)(int, const struct iovec *, int, off_t);
	ssize_t (*pwritev64)(int, const struct iovec *, int, off64_t);
	ssize_t (*preadv2)(int, const struct iovec *, int, off_t, int);
	ssize_t (*preadv64v2)(int, const struct iovec *, int, off64_t, int);
	ssize_t (*pwritev2)(int, const struct iovec *, int, off_t, int);
	ssize_t (*pwritev64v2)(int, const struct iovec *, int, off64_t, int);
	ssize_t (*__read_chk)(int, void *, size_t, size_t);
	ssize_t (*__pread_chk)(int, void *, size_t, off_t, size_t);
	ssize_t (*__pread64_chk)(int, void *, size_t, off64_t, size_t);
	int (*fsync)(int);
	int (*fdatasync)(int);
	int (*sync_file_range)(int, off64_t, off64_t, unsigned);
	ssize_t (*copy_file_range)(int, off64_t *, int, off64_t *, size_t, unsigned);
	ssize_t (*sendfile)(int, int, off_t *, size_t);
	ssize_t (*sendfile64)(int, int, off64_t *, size_t);
	ssize_t (*splice)(int, off64_t *, int, off64_t *, size_t, unsigned);
	ssize_t (*tee)(int, int, size_t, unsigned);
	ssize_t (*vmsplice)(int, const struct iovec *, size_t, unsigned);
	ssize_t (*getdents64)(int, void *, size_t);
	struct dirent *(*readdir)(DIR *);
	struct dirent64 *(*readdir64)(DIR *);
	DIR *(*opendir)(const char *);
	int (*closedir)(DIR *);
	FILE *(*fopen)(const char *, const char *);
	FILE *(*fopen64)(const char *, const char *);
	int (*fclose)(FILE *);
	FILE *(*freopen)(const char *, const char *, FILE *);
	FILE *(*freopen64)(const char *, const char *, FILE *);
	int (*pclose)(FILE *);
	int (*dup2)(int, int);
	int (*dup3)(int, int, int);
	void (*closefrom)(int);

	int (*open64)(const char *, int, ...);
	int (*openat)(int, const char *, int, ...);
	int (*openat64)(int, const char *, int, ...);
	int (*creat)(const char *, mode_t);
	int (*creat64)(const char *, mode_t);
	int (*__open_2)(const char *, int);
	int (*__open64_2)(const char *, int);
	int (*__openat_2)(int, const char *, int);
	int (*__openat64_2)(int, const char *, int);
	int (*rename)(const char *, const char *);
	int (*renameat)(int, const char *, int, const char *);
	int (*renameat2)(int, const char *, int, const char *, unsigned);
	int (*unlink)(const char *);
	int (*unlinkat)(int, const char *, int);

	int (*accept)(int, struct sockaddr *, socklen_t *);
	int (*accept4)(int, struct sockaddr *, socklen_t *, int);
	int (*connect)(int, const struct sockaddr *, socklen_t);
	ssize_t (*recv)(int, void *, size_t, int);
	ssize_t (*recvfrom)(int, void *, size_t, int, struct sockaddr *, socklen_t *);
	ssize_t (*recvmsg)(int, struct msghdr *, int);
	int (*recvmmsg)(int, struct mmsghdr *, unsigned, int, struct timespec *);
	ssize_t (*__recv_chk)(int, void *, size_t, size_t, int);
	ssize_t (*__recvfrom_chk)(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
	ssize_t (*send)(int, const void *, size_t, int);
	ssize_t (*sendto)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
	ssize_t (*sendmsg)(int, const struct msghdr *, int);
	int (*sendmmsg)(int, struct mmsghdr *, unsigned, int);
	int (*getaddrinfo)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

	int (*poll)(struct pollfd *, nfds_t, int);
	int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
	int (*__poll_chk)(struct pollfd *, nfds_t, int, size_t);
	int (*__ppoll_chk)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *,
			   size_t);
	int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
	int (*pselect)(int, fd_set *, fd_set *, fd_set *, const struct timespec *,
		       const sigset_t *);
	int (*epoll_wait)(int, struct epoll_event *, int, int);
	int (*epoll_pwait)(int, struct epoll_event *, int, int, const sigset_t *);
	int (*epoll_pwait2)(int, struct epoll_event *, int, const struct timespec *,
			    const sigset_t *);
};

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
void cp_io_rows_labels(const struct cp_run *r, const struct cp_stack *s,
		       struct cp_encode_labels *to);
/* Add a line for each op and kind, the one with the most delay first. */
void cp_io_rows_count(const struct cp_run *r, struct cp_vec *to);
void cp_io_rows_report(struct cp_comments *out, const struct cp_run *r);
/* Return TICKS of R's clock in ns. */
uint64_t cp_io_rows_ns(const struct cp_run *r, uint64_t ticks);

/* io_settings.c
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
