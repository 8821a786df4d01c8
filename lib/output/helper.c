/* SPDX-License-Identifier: BSD-3-Clause */
/* The helper at exit; see output.h.
 *
 *   the program's thread ── clone ──▶ supervisor ── vfork, exec ──▶ cprof
 *
 * The supervisor shares the program's memory but not its descriptors. It was created with no exit
 * signal: it raises no SIGCHLD, and only __WCLONE and __WALL wait for it. (An exec would change
 * that, because the kernel sets SIGCHLD for every program that it starts.) A debugger that follows
 * the program's children is not attached to it. cprof is a child of the supervisor, so it is not a
 * child of the program, even if the program is a subreaper. When the program's thread ends, the
 * kernel kills the supervisor, and cprof continues alone.
 */
#include "output/output.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own_code.h"
#include "base/sys.h"
#include "base/text.h"

#define STACK_SIZE ((size_t)32 << 10)
/* How long an exit may be delayed: the files of most programs take well below a second. */
#define WAIT_SECONDS 5
/* The time limit of a helper at exit, in wall-clock seconds. SIGALRM then ends the helper, and the
 * file stays as it was. A helper that pushes has no limit: it ends after the processes that it
 * serves. */
#define LIMIT_SECONDS 120
/* How often a process looks whether the helper that follows it is still there. */
#define WATCH_SECONDS 15
/* Time in which a helper without other load has surely started. */
#define START_NS UINT64_C(20000000)
/* Processes that end at the same time; a process that finds no room starts cprof. */
#define BACKLOG 4096
#define ENVIRONMENT_MAX 16384
#define DESCRIPTORS_MAX 65536

/* The environment variables that the helper may need; it gets no others. Settings that are meant
 * for the program (LD_PRELOAD, LD_LIBRARY_PATH, the modes') are not passed on. */
static const char kept[][25] = { "HOME", "XDG_CACHE_HOME", "CPROF_CACHE", "TMPDIR",
				 "DEBUGINFOD_URLS", "DEBUGINFOD_CACHE_PATH", "DEBUGINFOD_TIMEOUT",
				 "DEBUGINFOD_MAXTIME", "http_proxy", "https_proxy", "no_proxy",
				 /* for a push */
				 "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
				 "XDG_STATE_HOME", "CPROF_PUSH_USER", "CPROF_PUSH_USER_FILE",
				 "CPROF_PUSH_TOKEN", "CPROF_PUSH_TOKEN_FILE", "CPROF_PUSH_TENANT",
				 "CPROF_PUSH_TENANT_FILE", "CPROF_LABELS", "OTEL_SERVICE_NAME",
				 "OTEL_RESOURCE_ATTRIBUTES", "POD_NAME", "POD_NAMESPACE",
				 "NODE_NAME" };
#define KEPT (sizeof(kept) / sizeof(*kept))

static struct {
	char path[CP_PATH_MAX]; /* "" = no helper */
	char text[ENVIRONMENT_MAX];
	char *environment[KEPT + 1];
	size_t used;	  /* bytes of TEXT */
	struct stat root; /* the root directory when the helper was found */
	unsigned wait, limit, watch;
} found;

struct cp_helper {
	uint32_t alive;	  /* the supervisor's id; the kernel sets it to 0 when the supervisor has
			     ended */
	uint32_t started; /* cprof is running, or could not be started */
	int program;	  /* pid of cprof */
	long supervisor;
	uint64_t before; /* identity of the first file before the helper ran */
	unsigned room;
	const char *verb;     /* verb of cprof; NULL: symbolize */
	const char *argument; /* argument of VERB: the URL to which the files are also pushed */
	bool no_lines;	      /* the files are pushed, but get no lines */
	bool alone;	      /* nobody waits for cprof, and it has no time limit */
	bool listens;	      /* cprof takes further processes' files */
	int shared;  /* connection to another process's cprof, which has the files; or -1 */
	size_t size; /* size of this struct with the memory after it */
	char **arguments;
	char *files;
	char *stacks;
};

/* ---- at the start ---- */

static bool ends_with(const char *s, size_t n, const char *tail)
{
	size_t t = strlen(tail);

	return n >= t && !memcmp(s + n - t, tail, t);
}

/* Look for the helper beside the library in DIRECTORY (N bytes): in a build tree (.libs), or in an
 * installation, which may have been moved as a whole. */
static void beside(const char *directory, size_t n)
{
	size_t shared = cp_text_shared_directories(CP_LIBDIR "/", CP_BINDIR "/");

	if (ends_with(directory, n, "/.libs"))
		cp_text_format(found.path, sizeof(found.path), "%.*s/cprof", (int)(n - 6),
			       directory);
	else if (ends_with(directory, n, &CP_LIBDIR[shared]))
		cp_text_format(found.path, sizeof(found.path), "%.*s%s/cprof",
			       (int)(n - strlen(&CP_LIBDIR[shared])), directory,
			       &CP_BINDIR[shared]);
}

static void find_programs(void)
{
	const char *given = secure_getenv("_CPROF_HELPER"), *slash;
	char directory[CP_PATH_MAX];
	Dl_info info;

	if (given && *given == '/') {
		cp_text_format(found.path, sizeof(found.path), "%s", given);
		return;
	}
	if (CP_OWN_CODE_IS_STATIC) {
		cp_text_format(found.path, sizeof(found.path), "%s", CP_BINDIR "/cprof");
		return;
	}
	if (!dladdr(cp_helper_prepare, &info) || !info.dli_fname)
		return;
	slash = strrchr(info.dli_fname, '/');
	if (!slash)
		return;
	if (*info.dli_fname == '/') {
		beside(info.dli_fname, (size_t)(slash - info.dli_fname));
	} else if (cp_sys2(SYS_getcwd, directory, sizeof(directory)) > 0) {
		size_t n = strlen(directory);

		n += cp_text_format(directory + n, sizeof(directory) - n, "/%.*s",
				    (int)(slash - info.dli_fname), info.dli_fname);
		beside(directory, n);
	}
}

static void keep_environment(void)
{
	size_t used = 0;
	unsigned count = 0;

	for (size_t i = 0; i < KEPT; i++) {
		const char *value = secure_getenv(kept[i]);
		size_t n = value ? strlen(kept[i]) + strlen(value) + 2 : 0;

		if (!n || n > sizeof(found.text) - used)
			continue;
		found.environment[count++] = found.text + used;
		used += 1 + cp_text_format(found.text + used, n, "%s=%s", kept[i], value);
	}
	found.used = used;
}

/* Read "WAIT,LIMIT,WATCH", in seconds; for tests. */
static void read_limits(void)
{
	const char *s = secure_getenv("_CPROF_HELPER_SECONDS");
	unsigned *limits[] = { &found.wait, &found.limit, &found.watch };
	uint64_t n;

	found.wait = WAIT_SECONDS;
	found.limit = LIMIT_SECONDS;
	found.watch = WATCH_SECONDS;
	for (unsigned i = 0; s && i < 3 && !cp_text_parse_u64(&s, 10, &n); i++) {
		*limits[i] = (unsigned)n;
		if (*s++ != ',')
			break;
	}
}

uint64_t cp_helper_watch_ns(void)
{
	return found.watch * UINT64_C(1000000000);
}

void cp_helper_prepare(void)
{
	/* A program with more rights than its caller must not start another program with them. */
	if (found.path[0] || getauxval(AT_SECURE))
		return;
	find_programs();
	keep_environment();
	read_limits();
	if (cp_sys4(SYS_newfstatat, AT_FDCWD, "/", &found.root, 0) < 0)
		found.path[0] = '\0';
}

/* ---- one helper for many processes ---- */

/* Makes the name at which helpers with the same user, files and environment listen. Returns its
 * size, or 0 without /proc. */
static size_t shared_name(struct sockaddr_un *a)
{
	struct stat mounts;
	int n;

	if (cp_sys4(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/mnt", &mounts, 0))
		return 0;
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = (int)cp_text_format(
		a->sun_path + 1, sizeof(a->sun_path) - 1, "libcprof-lines/%u.%u/%lx.%lx.%lx/%x%x",
		(unsigned)cp_sys0(SYS_geteuid), (unsigned)cp_sys0(SYS_getegid),
		(unsigned long)mounts.st_ino, (unsigned long)found.root.st_dev,
		(unsigned long)found.root.st_ino, cp_index_hash(found.text, found.used),
		cp_index_hash(found.path, strlen(found.path)));
	return offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n;
}

static int unix_socket(void)
{
	return (int)cp_sys3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* False: another user has taken the name. */
static bool is_own_users(int fd)
{
	struct ucred its;
	socklen_t n = sizeof(its);

	return !cp_sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &its, &n) &&
	       its.uid == (uid_t)cp_sys0(SYS_geteuid);
}

/* Hands the first COUNT files to a helper that listens. Returns the connection, or -1. */
static int hand_over(struct cp_helper *h, unsigned count)
{
	struct iovec names[CP_MODES];
	struct msghdr m = { .msg_iov = names, .msg_iovlen = count };
	struct sockaddr_un a;
	size_t n = count <= CP_MODES ? shared_name(&a) : 0;
	int fd = n ? cp_sys_move_up(unix_socket()) : -1;

	if (fd < 0)
		return -1;
	for (unsigned i = 0; i < count; i++)
		names[i] = (struct iovec){ cp_helper_file(h, i), strlen(cp_helper_file(h, i)) + 1 };
	if (!cp_sys3(SYS_connect, fd, &a, n) && is_own_users(fd) &&
	    cp_sys3(SYS_sendmsg, fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		return fd;
	cp_sys_close(fd);
	return -1;
}

/* In the helper: takes the name, with descriptor 3. If a helper that started at the same time has
 * it, cprof has no such descriptor, and ends after its own files. */
static void listen_at_name(void)
{
	struct sockaddr_un a;
	size_t n = shared_name(&a);
	int fd = n ? unix_socket() : -1;

	if (fd == 3 && !cp_sys3(SYS_bind, fd, &a, n) && !cp_sys2(SYS_listen, fd, BACKLOG))
		cp_sys3(SYS_fcntl, fd, F_SETFD, 0);
}

/* ---- in the helper's processes, which share the program's memory, but not descriptors and signals
 * ---- */

static void close_all(void)
{
	if (cp_sys3(SYS_close_range, 0, ~0u, 0) >= 0)
		return;
	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
		cp_sys_close(fd);
}

/* Handlers are code of the program. A signal that the program ignores isn't ignored here. */
static void reset_signals(void)
{
	const struct cp_sys_sigaction standard = { .handler = SIG_DFL };
	uint64_t none = 0;

	for (int sig = 1; sig <= 64; sig++)
		cp_sys_sigaction(sig, &standard, NULL);
	cp_sys_sigmask(SIG_SETMASK, &none, NULL);
}

/* Takes descriptors 0 to 2. A container may have no /dev/null: then a file in memory, which goes
 * with the helper, takes its few messages. */
static bool open_null(void)
{
	int fd = (int)cp_sys4(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);

	if (fd < 0)
		fd = (int)cp_sys2(SYS_memfd_create, "null", 0);
	return !fd && cp_sys3(SYS_dup3, 0, 1, 0) == 1 && cp_sys3(SYS_dup3, 0, 2, 0) == 2;
}

/* If memory runs out, the kernel should kill this process first. (A vfork's child can set this for
 * itself alone.) */
static void volunteer(void)
{
	int fd = (int)cp_sys4(SYS_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY, 0);

	if (fd < 0)
		return;
	cp_sys_write(fd, "1000", 4);
	cp_sys_close(fd);
}

static void become_helper(void *arg)
{
	struct cp_helper *h = arg;
	struct itimerval limit = { .it_value.tv_sec = found.limit };
	struct rlimit none = { 0, 0 };

	/* Otherwise one of the helper's own files could become descriptor 2 and receive its
	 * messages. */
	if (!open_null())
		cp_sys1(SYS_exit_group, 127);
	volunteer();
	cp_sys0(SYS_setsid);
	cp_sys1(SYS_chdir, "/");
	cp_sys4(SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL);
	if (!h->alone)
		cp_sys3(SYS_setitimer, ITIMER_REAL, &limit, NULL);
	reset_signals();
	if (h->listens)
		listen_at_name();
	cp_sys3(SYS_execve, found.path, h->arguments, found.environment);
	cp_sys1(SYS_exit_group, 127);
}

static void supervise(void *arg)
{
	struct cp_helper *h = arg;
	long pid;

	const struct cp_sys_sigaction ignored = { .handler = SIG_IGN };

	/* The program's process group may be killed as a whole when the program ends. */
	cp_sys0(SYS_setsid);
	cp_sys2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	/* The setting is inherited, even over exec, and the loader reads the counter. */
	cp_sys2(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE);
	if (cp_sys_getppid() != h->program)
		return;
	/* With SIGCHLD ignored, the resources of a child that was not waited for are counted
	 * nowhere, so they don't appear in the numbers that the program's parent sees. The wait
	 * below ends when the child ends, and fails. */
	cp_sys_sigaction(SIGCHLD, &ignored, NULL);
	cp_sys_leave_realtime();
	/* The descriptors are copies of the program's: the reader of a pipe must not wait for the
	 * helper. */
	close_all();
	pid = cp_clone(CLONE_VM | CLONE_VFORK | SIGCHLD, h->stacks + STACK_SIZE, become_helper, h,
		       NULL, NULL);
	cp_store_release(&h->started, 1);
	cp_sys3(SYS_futex, &h->started, FUTEX_WAKE, 1);
	if (pid > 0 && !h->alone)
		cp_sys4(SYS_wait4, pid, NULL, __WALL, NULL);
}

/* ---- in the program ---- */

static size_t whole_pages(size_t n)
{
	return (n + 4095) & ~(size_t)4095;
}

struct cp_helper *cp_helper_begin(unsigned count)
{
	size_t head = whole_pages(sizeof(struct cp_helper) + (count + 7) * sizeof(char *));
	size_t size = head + whole_pages((size_t)count * CP_PATH_MAX) + 2 * STACK_SIZE;
	struct cp_helper *h = found.path[0] ? cp_sys_map(size) : NULL;

	if (!h)
		return NULL;
	h->size = size;
	h->room = count;
	h->arguments = (char **)(h + 1);
	h->files = (char *)h + head;
	h->stacks = (char *)h + size - 2 * STACK_SIZE;
	return h;
}

char *cp_helper_file(struct cp_helper *h, unsigned i)
{
	return h->files + (size_t)i * CP_PATH_MAX;
}

bool cp_helper_root_changed(void)
{
	struct stat root;

	return found.root.st_ino &&
	       (cp_sys4(SYS_newfstatat, AT_FDCWD, "/", &root, 0) ||
		root.st_dev != found.root.st_dev || root.st_ino != found.root.st_ino);
}

/* In another root directory, a file with the helper's name isn't the helper. */
static bool is_there(void)
{
	return !cp_helper_root_changed() && !cp_sys3(SYS_faccessat, AT_FDCWD, found.path, X_OK);
}

bool cp_helper_would_outlive_its_user(void)
{
	char path[32];
	struct stat st;

	cp_text_format(path, sizeof(path), "/proc/%d", cp_sys_getppid());
	return !cp_sys4(SYS_newfstatat, AT_FDCWD, path, &st, 0) &&
	       st.st_uid != (uid_t)cp_sys0(SYS_geteuid);
}

bool cp_helper_is_there(void)
{
	return found.path[0] && is_there();
}

/* Returns an identity of the file at PATH, which changes when the file is replaced. */
static uint64_t which_file(const char *path)
{
	struct stat st;

	return cp_sys4(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0
										     : st.st_ino;
}

void cp_helper_push_too(struct cp_helper *h, const char *url, bool lines)
{
	h->verb = "push";
	h->argument = url;
	h->no_lines = !lines;
}

static void set_arguments(struct cp_helper *h, unsigned count)
{
	unsigned n = 0;

	h->arguments[n++] = (char *)"cprof";
	h->arguments[n++] = (char *)(h->verb ? h->verb : "symbolize");
	h->arguments[n++] = (char *)(!h->verb ? "--in-place" : h->alone ? "-helper" : "-ended");
	if (h->listens)
		h->arguments[n++] = (char *)"-more";
	if (h->verb && !h->alone && !h->no_lines)
		h->arguments[n++] = (char *)"-lines";
	if (h->verb)
		h->arguments[n++] = (char *)h->argument;
	for (unsigned i = 0; i < count; i++)
		h->arguments[n++] = cp_helper_file(h, i);
}

int cp_helper_start(struct cp_helper *h, unsigned count, bool waits)
{
	unsigned n;

	h->before = count ? which_file(cp_helper_file(h, 0)) : 0;
	h->shared = h->verb || waits ? -1 : hand_over(h, count);
	if (h->shared >= 0)
		return 0;
	h->listens = !h->verb && !waits;
	set_arguments(h, count);
	h->program = cp_sys_getpid();
	h->alive = 1;
	h->supervisor =
		is_there() ? cp_clone(CLONE_VM | CLONE_UNTRACED | CLONE_CHILD_CLEARTID,
				      h->stacks + 2 * STACK_SIZE, supervise, h, &h->alive, NULL)
			   : -ENOENT;
	if (h->supervisor > 0)
		return 0;
	n = (unsigned)-h->supervisor;
	cp_helper_release(h);
	return -(int)n;
}

/* Wait until *WORD is no longer VALUE, or until UNTIL. */
static bool wait_while(uint32_t *word, uint32_t value, uint64_t until)
{
	while (cp_load_acquire(word) == value) {
		uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);
		uint64_t left = now < until ? until - now : 0;
		struct timespec t = { (time_t)(left / 1000000000u), (long)(left % 1000000000u) };

		if (!left)
			return false;
		/* A shared futex, because the kernel's own wake-up at the end of a process is
		 * shared. */
		cp_sys4(SYS_futex, word, FUTEX_WAIT, value, &t);
	}
	return true;
}

bool cp_helper_wait(struct cp_helper *h, unsigned seconds)
{
	uint64_t most = seconds < found.wait ? seconds : found.wait;
	uint64_t until = cp_sys_clock_ns(CLOCK_MONOTONIC) + (most + 1) * UINT64_C(1000000000);

	if (h->shared >= 0) {
		cp_sys_close(h->shared);
		return false;
	}
	/* Either word may be the last one that the supervisor changes. */
	while (!cp_load_acquire(&h->started) && cp_load_acquire(&h->alive) &&
	       cp_sys_clock_ns(CLOCK_MONOTONIC) < until)
		wait_while(&h->started, 0, cp_sys_clock_ns(CLOCK_MONOTONIC) + 10000000);
	if (!most || !wait_while(&h->alive, 1, until - UINT64_C(1000000000)))
		return false;
	cp_sys4(SYS_wait4, h->supervisor, NULL, __WCLONE, NULL);
	return which_file(cp_helper_file(h, 0)) != h->before;
}

struct cp_helper *cp_helper_alone(const char *verb, const char *argument)
{
	struct cp_helper *h = cp_helper_begin(0);

	if (!h)
		return NULL;
	h->verb = verb;
	h->argument = argument;
	h->alone = true;
	if (cp_helper_start(h, 0, false))
		return NULL;
	wait_while(&h->alive, 1, cp_sys_clock_ns(CLOCK_MONOTONIC) + START_NS);
	return h;
}

/* The supervisor ends as soon as cprof runs. Until then it uses this memory. */
bool cp_helper_reap(struct cp_helper *h)
{
	if (cp_load_acquire(&h->alive))
		return false;
	cp_sys4(SYS_wait4, h->supervisor, NULL, __WCLONE, NULL);
	cp_helper_release(h);
	return true;
}

void cp_helper_release(struct cp_helper *h)
{
	cp_sys_unmap(h, h->size);
}
