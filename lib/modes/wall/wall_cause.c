/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a thread waits; see wall_cause.h. */
#include "modes/wall/wall_cause.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "base/text.h"

/* Numbers of descriptors that rows may carry in a run; all further ones are left out, because a
 * server with thousands of connections would have as many rows. */
#define FDS_MAX 64u

/* Kinds that were looked up. Direct-mapped: a stack that loses its place costs a look-up. */
#define KNOWN 256u
static struct {
	uint64_t key, until; /* until: the first tick at which the kind is looked up again */
	uint8_t kind;
} known[KNOWN];

static uint16_t fds[FDS_MAX];
static unsigned fd_count;

/* How the cause follows from the call. */
enum rule {
	BY_KIND = 16,	/* of the descriptor in the first argument */
	POLL_OF_SECOND, /* a poll of as many descriptors as the second argument says */
	POLL_OF_FIRST,
	FILE_LOCK, /* fcntl: only some commands wait */
};

static unsigned rule_of(int64_t number)
{
	switch (number) {
	case SYS_futex:
	case SYS_flock: return CP_WALL_CAUSE_LOCK;
	case SYS_fcntl: return FILE_LOCK;
	case SYS_semop:
	case SYS_semtimedop: return CP_WALL_CAUSE_SEMAPHORE;
	case SYS_nanosleep:
	case SYS_clock_nanosleep: return CP_WALL_CAUSE_SLEEP;
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll: return POLL_OF_SECOND;
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6: return POLL_OF_FIRST;
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
	case 426: /* io_uring_enter */
	case 441: /* epoll_pwait2 */ return CP_WALL_CAUSE_POLL;
#ifdef SYS_fork
	case SYS_fork:
	case SYS_vfork:
#endif
	case SYS_clone:
	case 435: /* clone3 */
	case SYS_wait4:
	case SYS_waitid: return CP_WALL_CAUSE_CHILD;
#ifdef SYS_pause
	case SYS_pause:
#endif
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait: return CP_WALL_CAUSE_SIGNAL;
#ifdef SYS_open
	case SYS_open:
	case SYS_creat:
	case SYS_stat:
	case SYS_lstat:
	case SYS_access:
	case SYS_getdents:
	case SYS_mkdir:
	case SYS_rmdir:
	case SYS_rename:
	case SYS_unlink:
	case SYS_link:
	case SYS_symlink:
	case SYS_readlink:
#endif
	case SYS_openat:
	case 437: /* openat2 */
	case SYS_newfstatat:
	case SYS_statx:
	case SYS_faccessat:
	case SYS_getdents64:
	case SYS_mkdirat:
	case SYS_renameat2:
	case SYS_unlinkat:
	case SYS_linkat:
	case SYS_truncate:
	case SYS_ftruncate:
	case SYS_fallocate:
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_sync:
	case SYS_syncfs:
	case SYS_sync_file_range:
	case SYS_msync:
	case SYS_readahead:
	case SYS_io_getevents:
	case SYS_execve: return CP_WALL_CAUSE_DISK;
	case SYS_read:
	case SYS_readv:
	case SYS_pread64:
	case SYS_preadv:
	case SYS_preadv2:
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_sendfile:
	case SYS_splice:
	case SYS_tee:
	case SYS_vmsplice:
	case SYS_copy_file_range:
	case SYS_connect:
	case SYS_accept:
	case SYS_accept4:
	case SYS_ioctl:
	case SYS_close: return BY_KIND;
	default: return CP_WALL_CAUSE_OTHER;
	}
}

static unsigned of_kind(enum cp_wall_kind kind)
{
	switch (kind) {
	case CP_WALL_KIND_FILE: return CP_WALL_CAUSE_DISK;
	case CP_WALL_KIND_EVENTFD:
	case CP_WALL_KIND_PIPE: return CP_WALL_CAUSE_PIPE;
	case CP_WALL_KIND_TCP:
	case CP_WALL_KIND_UDP:
	case CP_WALL_KIND_UNIX:
	case CP_WALL_KIND_SOCKET: return CP_WALL_CAUSE_NETWORK;
	case CP_WALL_KIND_TTY: return CP_WALL_CAUSE_TERMINAL;
	case CP_WALL_KIND_TIMERFD: return CP_WALL_CAUSE_TIMER;
	case CP_WALL_KIND_SIGNALFD: return CP_WALL_CAUSE_SIGNAL;
	case CP_WALL_KIND_EPOLL:
	case CP_WALL_KIND_INOTIFY: return CP_WALL_CAUSE_POLL;
	default: return CP_WALL_CAUSE_OTHER;
	}
}

struct kind_name {
	const char *begins;
	enum cp_wall_kind kind;
};

static enum cp_wall_kind find_kind(const struct kind_name *names, const char *text)
{
	for (; names->begins; names++)
		if (cp_text_begins(text, names->begins))
			break;
	return names->kind;
}

static enum cp_wall_kind kind_of_socket(const char *path)
{
	static const struct kind_name names[] = { { "TCP", CP_WALL_KIND_TCP },
						  { "MPTCP", CP_WALL_KIND_TCP },
						  { "UDP", CP_WALL_KIND_UDP },
						  { "UNIX", CP_WALL_KIND_UNIX },
						  { NULL, CP_WALL_KIND_SOCKET } };
	char text[32] = "";

	if (cp_sys4(SYS_getxattr, path, "system.sockprotoname", text, sizeof(text) - 1) <= 0)
		return CP_WALL_KIND_SOCKET;
	return find_kind(names, text);
}

static enum cp_wall_kind kind_of_anonymous(const char *path)
{
	static const struct kind_name names[] = { { "anon_inode:[eventfd]", CP_WALL_KIND_EVENTFD },
						  { "anon_inode:[timerfd]", CP_WALL_KIND_TIMERFD },
						  { "anon_inode:[signalfd]",
						    CP_WALL_KIND_SIGNALFD },
						  { "anon_inode:[eventpoll]", CP_WALL_KIND_EPOLL },
						  { "anon_inode:inotify", CP_WALL_KIND_INOTIFY },
						  { NULL, CP_WALL_KIND_NONE } };
	char text[64] = "";

	if (cp_sys4(SYS_readlinkat, AT_FDCWD, path, text, sizeof(text) - 1) <= 0)
		return CP_WALL_KIND_NONE;
	return find_kind(names, text);
}

/* 4, 5: consoles and serial lines; 136 to 143: pseudo-terminals. */
static bool is_tty(unsigned device)
{
	return device == 4 || device == 5 || (device >= 136 && device <= 143);
}

/* The thread's descriptors are not the collector's, so they are found by the thread's folder. The
 * file's server, if it has one, is not asked: it may not answer. */
enum cp_wall_kind cp_wall_cause_kind(int tid, uint64_t fd)
{
	struct statx s;
	char path[64];

	if (fd > INT32_MAX)
		return CP_WALL_KIND_NONE;
	cp_text_format(path, sizeof(path), "/proc/self/task/%d/fd/%d", tid, (int)fd);
	if (cp_sys5(SYS_statx, AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &s) < 0)
		return CP_WALL_KIND_NONE;
	switch (s.stx_mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFBLK: return CP_WALL_KIND_FILE;
	case S_IFIFO: return CP_WALL_KIND_PIPE;
	case S_IFCHR: return is_tty(s.stx_rdev_major) ? CP_WALL_KIND_TTY : CP_WALL_KIND_DEVICE;
	case S_IFSOCK: return kind_of_socket(path);
	default: return kind_of_anonymous(path);
	}
}

/* The number that a row may carry for FD; -1: none. */
static int kept_fd(uint64_t fd)
{
	if (fd >= UINT16_MAX - 1)
		return -1;
	for (unsigned i = 0; i < fd_count; i++)
		if (fds[i] == fd)
			return (int)fd;
	if (fd_count == FDS_MAX)
		return -1;
	fds[fd_count++] = (uint16_t)fd;
	return (int)fd;
}

static uint64_t key_of(const uint64_t *pcs, uint32_t depth, uint64_t fd)
{
	uint64_t h = fd + 1;

	for (uint32_t i = 0; i < depth; i++)
		h = (h ^ pcs[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

static enum cp_wall_kind known_kind(int tid, uint64_t fd, uint64_t key, uint64_t now,
				    uint32_t second)
{
	unsigned at = key % KNOWN;

	if (known[at].key != key || now >= known[at].until) {
		known[at].kind = (uint8_t)cp_wall_cause_kind(tid, fd);
		known[at].key = key;
		known[at].until = now + second;
	}
	return (enum cp_wall_kind)known[at].kind;
}

uint32_t cp_wall_cause_of(const struct cp_wall_call *call, int tid, const uint64_t *pcs,
			  uint32_t depth, uint64_t now, uint32_t second)
{
	unsigned rule = rule_of(call->number);
	uint64_t fd = call->args[0], command = call->args[1];
	enum cp_wall_kind kind;

	switch (rule) {
	case POLL_OF_SECOND: rule = call->args[1] ? CP_WALL_CAUSE_POLL : CP_WALL_CAUSE_SLEEP; break;
	case POLL_OF_FIRST: rule = call->args[0] ? CP_WALL_CAUSE_POLL : CP_WALL_CAUSE_SLEEP; break;
	case FILE_LOCK:
		rule = command == F_SETLKW || command == F_OFD_SETLKW ? CP_WALL_CAUSE_LOCK
								      : CP_WALL_CAUSE_DISK;
		break;
	case BY_KIND:
		kind = known_kind(tid, fd, key_of(pcs, depth, fd), now, second);
		return CP_WALL_WAIT(of_kind(kind), kind, kept_fd(fd));
	default: break;
	}
	return CP_WALL_WAIT(rule, CP_WALL_KIND_NONE, -1);
}

/* Parts of the names of libc's functions that wait for a futex, and what they wait for. */
static const struct {
	const char *part, *cause;
} futexes[] = {
	{ "mutex", "lock" },
	{ "rwlock", "lock" },
	{ "lll_lock", "lock" },
	{ "mtx_", "lock" },
	{ "pthread_cond_", "condition" },
	{ "cnd_", "condition" },
	{ "sem_", "semaphore" },
	{ "barrier_wait", "barrier" },
	{ "join", "thread" },
};

static const char *futex_in(const char *name)
{
	for (size_t i = 0; i < sizeof(futexes) / sizeof(*futexes); i++)
		if (strstr(name, futexes[i].part))
			return futexes[i].cause;
	return NULL;
}

static bool is_of_libc(const struct cp_function *f)
{
	const char *base = f->path ? strrchr(f->path, '/') : NULL;

	return base && (cp_text_begins(base, "/libc.") || cp_text_begins(base, "/libc-") ||
			cp_text_begins(base, "/libpthread"));
}

/* libc's functions at the leaf tell, or the caller of syscall(): Rust's condition variables. */
static const char *futex_text(const struct cp_stack *s, const struct cp_aggregate *a,
			      const struct cp_names *n)
{
	for (uint32_t i = 0; i < s->depth; i++) {
		const struct cp_location *l =
			CP_VEC_AT(&a->locations, struct cp_location, s->locations[i]);
		const struct cp_function *f =
			CP_VEC_AT(&n->functions, struct cp_function, l->function);
		const char *cause;

		if (!l->function || !f->name)
			break;
		if (!is_of_libc(f))
			return strstr(f->name, "ondvar") ? "condition" : "lock";
		cause = f->has_symbol ? futex_in(f->name) : NULL;
		if (cause)
			return cause;
	}
	return "lock";
}

const char *cp_wall_cause_text(uint32_t wait, const struct cp_stack *s,
			       const struct cp_aggregate *a, const struct cp_names *n)
{
	static const char *const texts[] = {
		[CP_WALL_CAUSE_SEMAPHORE] = "semaphore", [CP_WALL_CAUSE_SLEEP] = "sleep",
		[CP_WALL_CAUSE_DISK] = "disk",		 [CP_WALL_CAUSE_NETWORK] = "network",
		[CP_WALL_CAUSE_PIPE] = "pipe",		 [CP_WALL_CAUSE_POLL] = "poll",
		[CP_WALL_CAUSE_CHILD] = "child",	 [CP_WALL_CAUSE_TIMER] = "timer",
		[CP_WALL_CAUSE_TERMINAL] = "terminal",	 [CP_WALL_CAUSE_SIGNAL] = "signal",
		[CP_WALL_CAUSE_OTHER] = "other",
	};
	enum cp_wall_cause cause = CP_WALL_WAIT_CAUSE(wait);

	return cause == CP_WALL_CAUSE_LOCK ? futex_text(s, a, n) : texts[cause];
}

const char *cp_wall_cause_kind_text(uint32_t wait)
{
	static const char *const texts[32] = {
		[CP_WALL_KIND_FILE] = "file",	      [CP_WALL_KIND_PIPE] = "pipe",
		[CP_WALL_KIND_TCP] = "tcp",	      [CP_WALL_KIND_UDP] = "udp",
		[CP_WALL_KIND_UNIX] = "unix",	      [CP_WALL_KIND_SOCKET] = "socket",
		[CP_WALL_KIND_TTY] = "tty",	      [CP_WALL_KIND_DEVICE] = "device",
		[CP_WALL_KIND_EVENTFD] = "eventfd",   [CP_WALL_KIND_TIMERFD] = "timerfd",
		[CP_WALL_KIND_SIGNALFD] = "signalfd", [CP_WALL_KIND_EPOLL] = "epoll",
		[CP_WALL_KIND_INOTIFY] = "inotify",
	};

	return texts[CP_WALL_WAIT_KIND(wait)];
}

void cp_wall_cause_forget(void)
{
	memset(known, 0, sizeof(known));
	fd_count = 0;
}
