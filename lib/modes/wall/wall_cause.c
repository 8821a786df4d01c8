/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a thread waits; see wall.h. */
#include "modes/wall/wall.h"

#include "base/own_code.h"
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
static bool knows; /* some kinds were looked up */

static uint16_t fds[FDS_MAX];
static unsigned fd_count;

/* Rules by which the cause follows from the call, if it isn't always the same. */
enum rule {
	BY_KIND = 16,	/* of the descriptor in the first argument */
	POLL_OF_SECOND, /* a poll of as many descriptors as the second argument says */
	POLL_OF_FIRST,
	FILE_LOCK, /* fcntl: only some commands wait */
};
#define RULE 31
#define ON_FD 32 /* the first argument is a descriptor, which doesn't change the cause */

/* clang-format off */
/* A cause or a rule for each system call that may wait. */
static const uint8_t rules[] = {
#define LOCK CP_WALL_CAUSE_LOCK
#define SEMAPHORE CP_WALL_CAUSE_SEMAPHORE
#define SLEEP CP_WALL_CAUSE_SLEEP
#define POLL CP_WALL_CAUSE_POLL
#define CHILD CP_WALL_CAUSE_CHILD
#define SIGNAL CP_WALL_CAUSE_SIGNAL
#define DISK CP_WALL_CAUSE_DISK
	[SYS_futex] = LOCK,
	[SYS_flock] = LOCK | ON_FD,
	[SYS_fcntl] = FILE_LOCK | ON_FD,
	[SYS_semop] = SEMAPHORE,
	[SYS_semtimedop] = SEMAPHORE,
	[SYS_nanosleep] = SLEEP,
	[SYS_clock_nanosleep] = SLEEP,
#ifdef SYS_poll
	[SYS_poll] = POLL_OF_SECOND,
#endif
	[SYS_ppoll] = POLL_OF_SECOND,
#ifdef SYS_select
	[SYS_select] = POLL_OF_FIRST,
#endif
	[SYS_pselect6] = POLL_OF_FIRST,
#ifdef SYS_epoll_wait
	[SYS_epoll_wait] = POLL | ON_FD,
#endif
	[SYS_epoll_pwait] = POLL | ON_FD,
	[426] = POLL | ON_FD, /* io_uring_enter */
	[441] = POLL | ON_FD, /* epoll_pwait2 */
#ifdef SYS_fork
	[SYS_fork] = CHILD,
	[SYS_vfork] = CHILD,
#endif
	[SYS_clone] = CHILD,
	[435] = CHILD, /* clone3 */
	[SYS_wait4] = CHILD,
	[SYS_waitid] = CHILD,
#ifdef SYS_pause
	[SYS_pause] = SIGNAL,
#endif
	[SYS_rt_sigsuspend] = SIGNAL,
	[SYS_rt_sigtimedwait] = SIGNAL,
#ifdef SYS_open
	[SYS_open] = DISK,
	[SYS_creat] = DISK,
	[SYS_stat] = DISK,
	[SYS_lstat] = DISK,
	[SYS_access] = DISK,
	[SYS_getdents] = DISK | ON_FD,
	[SYS_mkdir] = DISK,
	[SYS_rmdir] = DISK,
	[SYS_rename] = DISK,
	[SYS_unlink] = DISK,
	[SYS_link] = DISK,
	[SYS_symlink] = DISK,
	[SYS_readlink] = DISK,
#endif
	[SYS_openat] = DISK,
	[437] = DISK, /* openat2 */
	[SYS_newfstatat] = DISK,
	[SYS_statx] = DISK,
	[SYS_faccessat] = DISK,
	[SYS_getdents64] = DISK | ON_FD,
	[SYS_mkdirat] = DISK,
	[SYS_renameat2] = DISK,
	[SYS_unlinkat] = DISK,
	[SYS_linkat] = DISK,
	[SYS_truncate] = DISK,
	[SYS_ftruncate] = DISK | ON_FD,
	[SYS_fallocate] = DISK | ON_FD,
	[SYS_fsync] = DISK | ON_FD,
	[SYS_fdatasync] = DISK | ON_FD,
	[SYS_sync] = DISK,
	[SYS_syncfs] = DISK | ON_FD,
	[SYS_sync_file_range] = DISK | ON_FD,
	[SYS_msync] = DISK,
	[SYS_readahead] = DISK | ON_FD,
	[SYS_io_getevents] = DISK,
	[SYS_execve] = DISK,
	[SYS_read] = BY_KIND,
	[SYS_readv] = BY_KIND,
	[SYS_pread64] = BY_KIND,
	[SYS_preadv] = BY_KIND,
	[SYS_preadv2] = BY_KIND,
	[SYS_write] = BY_KIND,
	[SYS_writev] = BY_KIND,
	[SYS_pwrite64] = BY_KIND,
	[SYS_pwritev] = BY_KIND,
	[SYS_pwritev2] = BY_KIND,
	[SYS_recvfrom] = BY_KIND,
	[SYS_recvmsg] = BY_KIND,
	[SYS_recvmmsg] = BY_KIND,
	[SYS_sendto] = BY_KIND,
	[SYS_sendmsg] = BY_KIND,
	[SYS_sendmmsg] = BY_KIND,
	[SYS_sendfile] = BY_KIND,
	[SYS_splice] = BY_KIND,
	[SYS_tee] = BY_KIND,
	[SYS_vmsplice] = BY_KIND,
	[SYS_copy_file_range] = BY_KIND,
	[SYS_connect] = BY_KIND,
	[SYS_accept] = BY_KIND,
	[SYS_accept4] = BY_KIND,
	[SYS_ioctl] = BY_KIND,
	[SYS_close] = BY_KIND,
};
/* clang-format on */

static unsigned rule_of(int64_t number)
{
	return number >= 0 && (size_t)number < sizeof(rules) ? rules[number] : 0;
}

/* Return true if CALL's first argument is a descriptor. */
static bool is_on_fd(const struct cp_wall_call *call)
{
	unsigned rule = rule_of(call->number);

	return (rule & ON_FD) || (rule & RULE) == BY_KIND;
}

/* Return why a thread waits in CALL; UNKNOWN: the kind of its descriptor tells. */
static enum cp_wall_cause of_call(const struct cp_wall_call *call)
{
	unsigned rule = rule_of(call->number) & RULE;
	uint64_t command = call->args[1];

	switch (rule) {
	case 0: return CP_WALL_CAUSE_OTHER;
	case BY_KIND: return CP_WALL_CAUSE_UNKNOWN;
	case POLL_OF_SECOND: return call->args[1] ? CP_WALL_CAUSE_POLL : CP_WALL_CAUSE_SLEEP;
	case POLL_OF_FIRST: return call->args[0] ? CP_WALL_CAUSE_POLL : CP_WALL_CAUSE_SLEEP;
	case FILE_LOCK:
		return command == F_SETLKW || command == F_OFD_SETLKW ? CP_WALL_CAUSE_LOCK
								      : CP_WALL_CAUSE_DISK;
	default: return (enum cp_wall_cause)rule;
	}
}

static enum cp_wall_cause of_kind(enum cp_fd_kind kind)
{
	switch (kind) {
	case CP_FD_FILE: return CP_WALL_CAUSE_DISK;
	case CP_FD_EVENTFD:
	case CP_FD_PIPE: return CP_WALL_CAUSE_PIPE;
	case CP_FD_TCP:
	case CP_FD_UDP:
	case CP_FD_UNIX:
	case CP_FD_SOCKET: return CP_WALL_CAUSE_NETWORK;
	case CP_FD_TTY: return CP_WALL_CAUSE_TERMINAL;
	case CP_FD_TIMERFD: return CP_WALL_CAUSE_TIMER;
	case CP_FD_SIGNALFD: return CP_WALL_CAUSE_SIGNAL;
	case CP_FD_EPOLL:
	case CP_FD_INOTIFY: return CP_WALL_CAUSE_POLL;
	default: return CP_WALL_CAUSE_OTHER;
	}
}

struct kind_name {
	const char *begins;
	enum cp_fd_kind kind;
};

static enum cp_fd_kind find_kind(const struct kind_name *names, const char *text)
{
	for (; names->begins; names++)
		if (cp_text_begins(text, names->begins))
			break;
	return names->kind;
}

static enum cp_fd_kind kind_of_socket(const char *path)
{
	static const struct kind_name names[] = { { "TCP", CP_FD_TCP },
						  { "MPTCP", CP_FD_TCP },
						  { "UDP", CP_FD_UDP },
						  { "UNIX", CP_FD_UNIX },
						  { NULL, CP_FD_SOCKET } };
	char text[32] = "";

	if (cp_sys4(SYS_getxattr, path, "system.sockprotoname", text, sizeof(text) - 1) <= 0)
		return CP_FD_SOCKET;
	return find_kind(names, text);
}

/* The thread's descriptors are not the collector's, so they are found by the thread's folder. */
enum cp_fd_kind cp_wall_cause_kind(int tid, uint64_t fd)
{
	struct cp_filestat s;
	enum cp_fd_kind kind;
	char path[64];

	if (fd > INT32_MAX)
		return CP_FD_NOTHING;
	cp_text_format(path, sizeof(path), "/proc/self/task/%d/fd/%d", tid, (int)fd);
	if (cp_filestat_read(AT_FDCWD, path, 0, false, &s))
		return CP_FD_NOTHING;
	kind = cp_filestat_kind(&s, path);
	switch (kind) {
	case CP_FD_DIRECTORY:
	case CP_FD_BLOCK: return CP_FD_FILE;
	case CP_FD_SOCKET: return kind_of_socket(path);
	case CP_FD_OTHER: return CP_FD_NOTHING;
	default: return kind;
	}
}

/* Return the number that a row may carry for FD; -1: none. */
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

static enum cp_fd_kind known_kind(int tid, uint64_t fd, uint64_t key, uint64_t now, uint32_t second)
{
	unsigned at = key % KNOWN;

	if (known[at].key != key || now >= known[at].until) {
		known[at].kind = (uint8_t)cp_wall_cause_kind(tid, fd);
		known[at].key = key;
		known[at].until = now + second;
		knows = true;
	}
	return (enum cp_fd_kind)known[at].kind;
}

uint32_t cp_wall_cause_of(const struct cp_wall_call *call, int tid, const uint64_t *pcs,
			  uint32_t depth, uint64_t now, uint32_t second)
{
	enum cp_wall_cause cause = of_call(call);
	uint64_t fd = call->args[0];
	enum cp_fd_kind kind;

	if (!is_on_fd(call))
		return CP_WALL_WAIT(cause, CP_FD_NOTHING, -1);
	kind = known_kind(tid, fd, key_of(pcs, depth, fd), now, second);
	return CP_WALL_WAIT(cause == CP_WALL_CAUSE_UNKNOWN ? of_kind(kind) : cause, kind,
			    kept_fd(fd));
}

uint32_t cp_wall_cause_now(const struct cp_wall_call *call, int tid, int *fd)
{
	enum cp_wall_cause cause = of_call(call);
	enum cp_fd_kind kind = CP_FD_NOTHING;

	*fd = -1;
	if (is_on_fd(call))
		kind = cp_wall_cause_kind(tid, call->args[0]);
	if (kind != CP_FD_NOTHING)
		*fd = (int)call->args[0];
	return CP_WALL_WAIT(cause == CP_WALL_CAUSE_UNKNOWN ? of_kind(kind) : cause, kind, -1);
}

/* Parts of the names of libc's functions that wait for a futex. */
static const struct {
	const char *part;
	enum cp_wall_futex futex;
} futexes[] = {
	{ "mutex", CP_WALL_FUTEX_MUTEX },
	{ "rwlock", CP_WALL_FUTEX_RWLOCK },
	{ "lll_lock", CP_WALL_FUTEX_LIBC },
	{ "mtx_", CP_WALL_FUTEX_MUTEX },
	{ "pthread_cond_", CP_WALL_FUTEX_CONDITION },
	{ "cnd_", CP_WALL_FUTEX_CONDITION },
	{ "sem_", CP_WALL_FUTEX_SEMAPHORE },
	{ "barrier_wait", CP_WALL_FUTEX_BARRIER },
	{ "join", CP_WALL_FUTEX_THREAD },
};

static enum cp_wall_futex futex_in(const char *name)
{
	for (size_t i = 0; i < sizeof(futexes) / sizeof(*futexes); i++)
		if (strstr(name, futexes[i].part))
			return futexes[i].futex;
	return CP_WALL_FUTEX_OTHER;
}

bool cp_wall_cause_is_libc(const char *path)
{
	const char *base = path ? strrchr(path, '/') : NULL;

	return base && (cp_text_begins(base, "/libc.") || cp_text_begins(base, "/libc-") ||
			cp_text_begins(base, "/libpthread"));
}

/* In a program that is linked statically, libc's functions are known by their names, which are not
 * for programs. */
static bool is_in_libc(const struct cp_function *f)
{
	static const char *const begins[] = {
		"__", "pthread_", "sem_", "mtx_", "cnd_", "do_futex_"
	};

	for (size_t i = 0; CP_OWN_CODE_IS_STATIC && i < sizeof(begins) / sizeof(*begins); i++)
		if (cp_text_begins(f->name, begins[i]))
			return true;
	return cp_wall_cause_is_libc(f->path);
}

/* A function of libc called FUTEX's waits, by way of libc's internal function for locks: for a
 * mutex, or a condition that takes its mutex again. Otherwise the lock is libc's own. */
static enum cp_wall_futex through_libc(enum cp_wall_futex futex)
{
	return futex == CP_WALL_FUTEX_MUTEX || futex == CP_WALL_FUTEX_CONDITION
		       ? CP_WALL_FUTEX_MUTEX
		       : CP_WALL_FUTEX_LIBC;
}

/* Found by libc's functions at the leaf, or the caller of syscall(): Rust's conditions. */
enum cp_wall_futex cp_wall_cause_futex(const struct cp_stack *s, const struct cp_aggregate *a,
				       const struct cp_names *n)
{
	bool internal = false;

	for (uint32_t i = 0; i < s->depth; i++) {
		const struct cp_location *l =
			CP_VEC_AT(&a->locations, struct cp_location, s->locations[i]);
		const struct cp_function *f =
			CP_VEC_AT(&n->functions, struct cp_function, l->function);
		enum cp_wall_futex futex = CP_WALL_FUTEX_OTHER;

		if (!l->function || !f->name)
			break;
		if (!is_in_libc(f)) {
			if (strstr(f->name, "ondvar"))
				return CP_WALL_FUTEX_CONDITION;
			break;
		}
		if (f->has_symbol)
			futex = futex_in(f->name);
		if (futex == CP_WALL_FUTEX_LIBC)
			internal = true;
		else if (futex != CP_WALL_FUTEX_OTHER)
			return internal ? through_libc(futex) : futex;
	}
	return internal ? CP_WALL_FUTEX_LIBC : CP_WALL_FUTEX_OTHER;
}

const char *cp_wall_cause_futex_text(enum cp_wall_futex futex)
{
	switch (futex) {
	case CP_WALL_FUTEX_CONDITION: return "condition";
	case CP_WALL_FUTEX_SEMAPHORE: return "semaphore";
	case CP_WALL_FUTEX_BARRIER: return "barrier";
	case CP_WALL_FUTEX_THREAD: return "thread";
	default: return "lock";
	}
}

const char *cp_wall_cause_text(uint32_t wait, const struct cp_stack *s,
			       const struct cp_aggregate *a, const struct cp_names *n)
{
	static const char *const texts[] = {
		[CP_WALL_CAUSE_LOCK] = "lock",	     [CP_WALL_CAUSE_SEMAPHORE] = "semaphore",
		[CP_WALL_CAUSE_SLEEP] = "sleep",     [CP_WALL_CAUSE_DISK] = "disk",
		[CP_WALL_CAUSE_NETWORK] = "network", [CP_WALL_CAUSE_PIPE] = "pipe",
		[CP_WALL_CAUSE_POLL] = "poll",	     [CP_WALL_CAUSE_CHILD] = "child",
		[CP_WALL_CAUSE_TIMER] = "timer",     [CP_WALL_CAUSE_TERMINAL] = "terminal",
		[CP_WALL_CAUSE_SIGNAL] = "signal",   [CP_WALL_CAUSE_OTHER] = "other",
	};
	enum cp_wall_cause cause = CP_WALL_WAIT_CAUSE(wait);

	return cause == CP_WALL_CAUSE_LOCK && s
		       ? cp_wall_cause_futex_text(cp_wall_cause_futex(s, a, n))
		       : texts[cause];
}

const char *cp_wall_cause_kind_text(uint32_t wait)
{
	enum cp_fd_kind kind = CP_WALL_WAIT_KIND(wait);

	return kind == CP_FD_NOTHING ? NULL : cp_filestat_kind_name(kind);
}

void cp_wall_cause_forget(void)
{
	if (knows)
		memset(known, 0, sizeof(known));
	knows = false;
	fd_count = 0;
}
