/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls each function that the profiler interposes with pointers that it must not read or write:
 * NULL, an odd address in the first page, a page that isn't mapped, one that can't be written, one
 * that can't be read, the last byte before such a page, the last eight bytes before one that can't
 * be read or written, and a number that is no address. Each call (io_hooks.h) is made in a child of
 * its own. Prints the result and errno, or the signal and the address of the fault.
 */
#include <dirent.h>
#include <linux/openat2.h>
#include <mqueue.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <threads.h>

#include "system.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

#define BASE ((char *)0x200000000000)
#define PAGE ((size_t)65536) /* or several smaller ones */

enum {
	NOWHERE,
	ODD,
	UNMAPPED,
	READ_ONLY,
	UNREADABLE,
	AT_THE_END,
	HALF,
	HALF_READ_ONLY,
	NO_ADDRESS,
	KINDS
};
static const char *const kinds[] = { "NULL", "1",    "unmapped",       "read-only", "unreadable",
				     "end",  "half", "half read-only", "no address" };

static void *pointer(int kind)
{
	switch (kind) {
	case NOWHERE: return NULL;
	case ODD: return (void *)1;
	case UNMAPPED: return BASE + 8 * PAGE;
	case READ_ONLY: return BASE + PAGE;
	case UNREADABLE: return BASE + 2 * PAGE;
	case HALF: return BASE + 6 * PAGE - 8;
	case HALF_READ_ONLY: return BASE + PAGE - 8;
	case NO_ADDRESS: return (void *)((uintptr_t)1 << 63);
	default: return BASE + 2 * PAGE - 1; /* the read-only page's last byte */
	}
}

static struct {
	struct timespec moment;
	struct itimerval timer;
	sigset_t set;
	struct sigaction act;
	stack_t stack;
	siginfo_t info;
	struct iovec vec;
	struct msghdr message;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	sem_t sem;
	char bytes[64];
	int files[2], sockets[2], pipe[2], epoll, listening, exe;
	socklen_t size;
	pthread_rwlock_t rwlock;
	struct timespec past;
	pid_t pid;
} good;

/* An entry of futex_waitv's list. */
struct waiter {
	uint64_t value, address;
	uint32_t flags, reserved;
};

typedef long call(void *p);

static char *const arguments[] = { "true", NULL };

/* A list of texts, of which the last is P. */
static char *const *texts(void *p)
{
	static char *list[3] = { "true" };

	list[1] = p;
	return list;
}

/* Two parts, of which the second is P. */
static struct iovec *with(void *p)
{
	static struct iovec parts[2] = { { good.bytes, 4 } };

	parts[1] = (struct iovec){ p, 8 };
	return parts;
}

/* SIG, which is blocked and pending. */
static const sigset_t *sent(int sig)
{
	sigemptyset(&good.set);
	sigaddset(&good.set, sig);
	sigprocmask(SIG_BLOCK, &good.set, NULL);
	kill(getpid(), sig);
	return &good.set;
}

static long spawned(void *p)
{
	pid_t pid = 0;

	return posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, p);
}

static long held_suspend(void *p)
{
	sigset_t prof;

	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	sigprocmask(SIG_BLOCK, &prof, NULL);
	return sigsuspend(p);
}

static long strings(void *p)
{
	return execve("/bin/true", arguments, texts(p));
}

static long masked(void *p)
{
	sigset_t now;
	long r;

	sigemptyset(&good.set);
	sigaddset(&good.set, SIGUSR1);
	r = sigprocmask(SIG_BLOCK, &good.set, p);
	sigprocmask(SIG_BLOCK, NULL, &now);
	return 100 * sigismember(&now, SIGUSR1) + r;
}

static void *nothing(void *arg)
{
	return arg;
}

static long b_thread_attributes(void *p)
{
	pthread_t thread;

	return p ? pthread_create(&thread, p, nothing, NULL) : 0;
}

#define C(name, expression)                                                                        \
	static long name(void *p)                                                                  \
	{                                                                                          \
		return (long)(expression);                                                         \
	}
#include "calls.h"
#undef C

static const struct {
	const char *name;
	call *call;
} calls[] = {
	{ "masked", masked },
	{ "held_suspend", held_suspend },
	{ "strings", strings },
	{ "spawned", spawned },
	{ "b_thread_attributes", b_thread_attributes },
#define C(name, expression) { #name, name },
#include "calls.h"
#undef C
};

static void on_fault(int sig, siginfo_t *si, void *context)
{
	char line[80];
	int n = snprintf(line, sizeof(line), "signal %d, code %d at %p\n", sig, si->si_code,
			 si->si_addr);

	(void)context;
	if (write(1, line, (size_t)n) != n)
		_exit(2);
	_exit(0);
}

static void make_good(void)
{
	pthread_mutexattr_t kind;
	struct epoll_event e = { .events = EPOLLIN };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char name[] = "/tmp/bad-pointers-XXXXXX";

	good.moment.tv_nsec = 1000000;
	sigemptyset(&good.set);
	sigaddset(&good.set, SIGUSR2);
	pthread_mutexattr_init(&kind);
	pthread_mutex_init(&good.mutex, &kind);
	pthread_cond_init(&good.cond, NULL);
	sem_init(&good.sem, 0, 0);
	good.files[0] = open("/proc/self/exe", O_RDONLY);
	good.files[1] = mkstemp(name);
	unlink(name);
	socketpair(AF_UNIX, SOCK_STREAM, 0, good.sockets);
	if (write(good.sockets[1], good.bytes, 8) != 8)
		_exit(2);
	pthread_rwlock_init(&good.rwlock, NULL);
	pthread_rwlock_wrlock(&good.rwlock);
	if (pipe(good.pipe) || write(good.pipe[1], good.bytes, 8) != 8)
		_exit(2);
	good.exe = open("/bin/true", O_RDONLY | O_CLOEXEC);
	good.listening = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	good.size = sizeof(a);
	/* A name of the kernel's. */
	bind(good.listening, (void *)&a, sizeof(a.sun_family));
	listen(good.listening, 5);
	getsockname(good.listening, (void *)&a, &good.size);
	connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, good.size);
	good.epoll = epoll_create1(0);
	epoll_ctl(good.epoll, EPOLL_CTL_ADD, good.sockets[0], &e);
}

static void make_pages(void)
{
	char *p = mmap(BASE, 16 * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (p != BASE)
		_exit(77);
	munmap(BASE + 8 * PAGE, PAGE);
	mprotect(BASE + PAGE, PAGE, PROT_READ);
	mprotect(BASE + 2 * PAGE, PAGE, PROT_NONE);
	mprotect(BASE + 6 * PAGE, PAGE, PROT_NONE);
}

static void try(unsigned i, int kind)
{
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	char line[80];
	long r;
	int n;

	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	pthread_mutex_lock(&good.mutex);
	errno = 0;
	/* A wait that never ends is a result, too; not that the profiles take their time, beside
	 * load. */
	alarm(1);
	r = calls[i].call(pointer(kind));
	alarm(0);
	n = snprintf(line, sizeof(line), "%ld, errno %d\n", r, r ? errno : 0);
	if (write(1, line, (size_t)n) != n)
		_exit(2);
	_exit(0);
}

/* These wait for ever. */
static int waits(unsigned i, int kind)
{
	int no_kind =
		kind == READ_ONLY || kind == AT_THE_END || kind == HALF || kind == HALF_READ_ONLY;

	return (no_kind && strstr(calls[i].name, "sig") && strstr(calls[i].name, "wait")) ||
	       (no_kind && strstr(calls[i].name, "suspend")) ||
	       (kind == NOWHERE &&
		(strstr(calls[i].name, "timed") || strstr(calls[i].name, "clock"))) ||
	       ((kind == HALF || kind == HALF_READ_ONLY) &&
		(strstr(calls[i].name, "spin_lock") || strstr(calls[i].name, "sem_wait")));
}

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	make_good();
	make_pages();
	setvbuf(stdout, NULL, _IONBF, 0);
	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		for (int kind = 0; kind < KINDS; kind++) {
			if (waits(i, kind) || (argc > 1 && strcmp(argv[1], calls[i].name)))
				continue;
			printf("%s %s: ", calls[i].name, kinds[kind]);
			child = fork();
			if (!child)
				try(i, kind);
			waitpid(child, &status, 0);
			if (status)
				printf("status %x\n", (unsigned)status);
		}
	return 0;
}
