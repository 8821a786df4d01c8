/* The helper at exit; see helper.h.
 *
 *   the program's thread ── clone ──▶ supervisor ── vfork, exec ──▶ cprof
 *
 * The supervisor shares our memory but not our descriptors, and asked for no signal at its end: it
 * raises no SIGCHLD, and only __WCLONE and __WALL wait for it. (An exec would change that: the
 * kernel gives every program that it starts SIGCHLD.) A debugger that follows the program's
 * children is not given it. cprof is the supervisor's child, so it is no child of the program, also
 * where that adopts orphans. When the program's thread ends the kernel kills the supervisor, and
 * cprof goes on without us.
 */
#include "helper.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/close_range.h>
#include <linux/prctl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"
#include "sigsafe/text.h"

#define STACK_SIZE ((size_t)32 << 10)
/* The delay of an exit: most programs' files take well below a second. */
#define WAIT_SECONDS 5
/* Of the helper, by the clock; then SIGALRM ends it, and the file stays as it was. */
#define LIMIT_SECONDS 120
#define ENVIRONMENT_MAX 4096
#define DESCRIPTORS_MAX 65536

/* What it may need from the environment, and nothing else: whatever made the program work the way
 * it does (LD_PRELOAD, LD_LIBRARY_PATH, our settings) is not meant for it. */
static const char *const kept[] = { "HOME",
				    "XDG_CACHE_HOME",
				    "TMPDIR",
				    "DEBUGINFOD_URLS",
				    "DEBUGINFOD_CACHE_PATH",
				    "DEBUGINFOD_TIMEOUT",
				    "DEBUGINFOD_MAXTIME",
				    "http_proxy",
				    "https_proxy",
				    "no_proxy" };
#define KEPT (sizeof(kept) / sizeof(*kept))

static struct {
	char path[CP_PATH_MAX]; /* "" = there is none */
	char text[ENVIRONMENT_MAX];
	char *environment[KEPT + 1];
	struct stat root; /* of the file system, when we looked */
	unsigned wait, limit;
} found;

struct cp_helper {
	uint32_t alive;	  /* the supervisor's id; 0 when it has ended, set by the kernel */
	uint32_t started; /* cprof runs, or could not be started */
	int program;	  /* pid */
	long supervisor;
	uint64_t before; /* the first file, as it was */
	unsigned room;
	size_t size; /* of this, all in all */
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

/* Behind what A and B have in common, up to a slash. */
static size_t common(const char *a, const char *b)
{
	size_t n = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			n = i;
	return n;
}

/* From DIRECTORY (N bytes), where our library is: a build tree's .libs, or an installation,
 * wherever it was moved to as a whole. */
static void beside(const char *directory, size_t n)
{
	size_t shared = common(CP_LIBDIR "/", CP_BINDIR "/");

	if (ends_with(directory, n, "/.libs"))
		cp_format(found.path, sizeof(found.path), "%.*s/cprof", (int)(n - 6), directory);
	else if (ends_with(directory, n, &CP_LIBDIR[shared]))
		cp_format(found.path, sizeof(found.path), "%.*s%s/cprof",
			  (int)(n - strlen(&CP_LIBDIR[shared])), directory, &CP_BINDIR[shared]);
}

static void find(void)
{
	const char *given = secure_getenv("_CPROF_HELPER"), *slash;
	char directory[CP_PATH_MAX];
	Dl_info info;

	if (given && *given == '/') {
		cp_format(found.path, sizeof(found.path), "%s", given);
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

		n += cp_format(directory + n, sizeof(directory) - n, "/%.*s",
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
		used += 1 + cp_format(found.text + used, n, "%s=%s", kept[i], value);
	}
}

/* "WAIT,LIMIT" in seconds, for tests. */
static void read_limits(void)
{
	const char *s = secure_getenv("_CPROF_HELPER_SECONDS");
	uint64_t wait, limit;

	found.wait = WAIT_SECONDS;
	found.limit = LIMIT_SECONDS;
	if (!s || cp_parse_u64(&s, 10, &wait) || *s++ != ',' || cp_parse_u64(&s, 10, &limit))
		return;
	found.wait = (unsigned)wait;
	found.limit = (unsigned)limit;
}

void cp_helper_prepare(void)
{
	/* A program with more rights than its caller has doesn't start another with them. */
	if (found.path[0] || getauxval(AT_SECURE))
		return;
	find();
	keep_environment();
	read_limits();
	if (cp_sys4(SYS_newfstatat, AT_FDCWD, "/", &found.root, 0) < 0)
		found.path[0] = '\0';
}

/* ---- in the helper's processes: our memory, but for descriptors and signals ---- */

static void close_all(void)
{
	if (cp_sys3(SYS_close_range, 0, ~0u, 0) >= 0)
		return;
	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
		cp_sys_close(fd);
}

/* A handler is code of the program; and what it ignores we don't. */
static void reset_signals(void)
{
	const struct cp_sys_sigaction standard = { .handler = SIG_DFL };
	uint64_t none = 0;

	for (int sig = 1; sig <= 64; sig++)
		cp_sys_sigaction(sig, &standard, NULL);
	cp_sys_sigmask(SIG_SETMASK, &none, NULL);
}

static bool open_null(void)
{
	int fd = (int)cp_sys4(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);

	return !fd && cp_sys3(SYS_dup3, 0, 1, 0) == 1 && cp_sys3(SYS_dup3, 0, 2, 0) == 2;
}

/* Where memory is short, it is the one to go. (A vfork's child has this for itself alone.) */
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

	/* Without, a file of its own could be descriptor 2, and get its messages. */
	if (!open_null())
		cp_sys1(SYS_exit_group, 127);
	volunteer();
	cp_sys0(SYS_setsid);
	cp_sys1(SYS_chdir, "/");
	cp_sys4(SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL);
	cp_sys3(SYS_setitimer, ITIMER_REAL, &limit, NULL);
	reset_signals();
	cp_sys3(SYS_execve, found.path, h->arguments, found.environment);
	cp_sys1(SYS_exit_group, 127);
}

static void supervise(void *arg)
{
	struct cp_helper *h = arg;
	long pid;

	const struct cp_sys_sigaction ignored = { .handler = SIG_IGN };

	cp_sys2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	if (cp_sys_getppid() != h->program)
		return;
	/* What a child took that was not waited for is nobody's: it is not in the resources that
	 * the program's parent is told of. The wait below ends with the child, and fails. */
	cp_sys_sigaction(SIGCHLD, &ignored, NULL);
	cp_sys_leave_realtime();
	/* Copies of the program's: a pipe's reader is not to wait for us. */
	close_all();
	pid = cp_clone(CLONE_VM | CLONE_VFORK | SIGCHLD, h->stacks + STACK_SIZE, become_helper, h,
		       NULL, NULL);
	cp_store_release(&h->started, 1);
	cp_sys3(SYS_futex, &h->started, FUTEX_WAKE, 1);
	if (pid > 0)
		cp_sys4(SYS_wait4, pid, NULL, __WALL, NULL);
}

/* ---- in the program ---- */

static size_t whole(size_t n)
{
	return (n + 4095) & ~(size_t)4095;
}

struct cp_helper *cp_helper_begin(unsigned count)
{
	size_t head = whole(sizeof(struct cp_helper) + (count + 5) * sizeof(char *));
	size_t size = head + whole((size_t)count * CP_PATH_MAX) + 2 * STACK_SIZE;
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

/* Another root directory since the start: what is found there by our name is not ours to run. */
static bool is_there(void)
{
	struct stat root;

	return !cp_sys4(SYS_newfstatat, AT_FDCWD, "/", &root, 0) &&
	       root.st_dev == found.root.st_dev && root.st_ino == found.root.st_ino &&
	       !cp_sys3(SYS_faccessat, AT_FDCWD, found.path, X_OK);
}

/* Another file has its name when it was replaced. */
static uint64_t which_file(const char *path)
{
	struct stat st;

	return cp_sys4(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0
										     : st.st_ino;
}

int cp_helper_start(struct cp_helper *h, unsigned count)
{
	unsigned n = 0;

	h->arguments[n++] = (char *)"cprof";
	h->arguments[n++] = (char *)"symbolize";
	h->arguments[n++] = (char *)"--in-place";
	for (unsigned i = 0; i < count; i++)
		h->arguments[n++] = cp_helper_file(h, i);
	h->before = which_file(cp_helper_file(h, 0));
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

/* Until *WORD is no longer VALUE, or the time has come. */
static bool wait_while(uint32_t *word, uint32_t value, uint64_t until)
{
	while (cp_load_acquire(word) == value) {
		uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);
		uint64_t left = now < until ? until - now : 0;
		struct timespec t = { (time_t)(left / 1000000000u), (long)(left % 1000000000u) };

		if (!left)
			return false;
		/* Shared: the kernel's own wake-up at the end of a process is. */
		cp_sys4(SYS_futex, word, FUTEX_WAIT, value, &t);
	}
	return true;
}

bool cp_helper_wait(struct cp_helper *h, unsigned seconds)
{
	uint64_t most = seconds < found.wait ? seconds : found.wait;
	uint64_t until = cp_sys_clock_ns(CLOCK_MONOTONIC) + (most + 1) * UINT64_C(1000000000);

	/* Either word may be the last that is heard of the supervisor. */
	while (!cp_load_acquire(&h->started) && cp_load_acquire(&h->alive) &&
	       cp_sys_clock_ns(CLOCK_MONOTONIC) < until)
		wait_while(&h->started, 0, cp_sys_clock_ns(CLOCK_MONOTONIC) + 10000000);
	if (!most || !wait_while(&h->alive, 1, until - UINT64_C(1000000000)))
		return false;
	cp_sys4(SYS_wait4, h->supervisor, NULL, __WCLONE, NULL);
	return which_file(cp_helper_file(h, 0)) != h->before;
}

void cp_helper_release(struct cp_helper *h)
{
	cp_sys_unmap(h, h->size);
}
