/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that lock themselves in, or move to other namespaces, which the kernel allows
 * single-threaded programs only.
 *
 *   sandbox probe | blind | refused | filter | filter-by-number | filter-with-right |
 *           filter-threads | filter-forks | filter-forks-threads | filter-forks-stopped |
 *           filter-execs | forks-strict | strict | unshare-user | unshare-pid | setns | close-range
 * | close-range-by-number   [threaded]
 */
#include <link.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "host.h"
#include "deny.h"
#include "had-thread.h"

__attribute__((noinline)) static void work(void)
{
	burn_and_tick(0.05);
	__asm__ volatile("");
}

/* Without the clock, which may need a system call that is forbidden. */
__attribute__((noinline)) static void confined_work(void)
{
	for (volatile unsigned long i = 0; i < 100000000; i++)
		;
}

/* The calls of a worker that has already opened everything; any other call kills the process. */
static const int allowed[] = { SYS_read, SYS_write, SYS_exit_group, SYS_exit, SYS_rt_sigreturn };
/* And what libc needs to end a thread and to wait for it. */
static const int allowed_threads[] = { SYS_futex,	   SYS_madvise,		SYS_munmap,
				       SYS_mmap,	   SYS_mprotect,	SYS_clone,
				       SYS_rseq,	   SYS_set_robust_list, SYS_gettid,
#ifdef SYS_clone3
				       SYS_clone3,
#endif
				       SYS_rt_sigprocmask, SYS_sched_yield };

/* And what libc needs to fork and to wait for the child. */
static const int allowed_forks[] = { SYS_clone, SYS_wait4,  SYS_set_robust_list,
#ifndef __GLIBC__
				     SYS_fork,	SYS_gettid, SYS_rt_sigprocmask
#endif
};
/* And to give back its alternate stack, and to become nothing at all. */
static const int allowed_execs[] = { SYS_execve, SYS_munmap, SYS_mprotect };

static size_t add(struct sock_filter *f, size_t n, const int *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						      (unsigned)numbers[i], 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	return n;
}

enum { THREADS = 1, FORKS = 2, EXECS = 4 };

static struct sock_fprog make_filter(int needs)
{
	static struct sock_filter f[80];
	struct sock_fprog program = { 0, f };
	size_t n = 0;

	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					      offsetof(struct seccomp_data, nr));
	n = add(f, n, allowed, sizeof(allowed) / sizeof(*allowed));
	if (needs & THREADS)
		n = add(f, n, allowed_threads, sizeof(allowed_threads) / sizeof(*allowed_threads));
	if (needs & FORKS)
		n = add(f, n, allowed_forks, sizeof(allowed_forks) / sizeof(*allowed_forks));
	if (needs & EXECS)
		n = add(f, n, allowed_execs, sizeof(allowed_execs) / sizeof(*allowed_execs));
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program.len = (unsigned short)n;
	return program;
}

static void confine(int needs)
{
	struct sock_fprog program = make_filter(needs);

	EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* Whether the thread had the right to filter its calls without giving up others; it may give that
 * up, too. */
static bool right_to_filter(bool drop)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];
	bool had;

	EXPECT(syscall(SYS_capget, &h, d) == 0);
	had = (d[0].effective & CAP_TO_MASK(CAP_SYS_ADMIN)) != 0;
	d[0].effective &= ~CAP_TO_MASK(CAP_SYS_ADMIN);
	if (drop)
		EXPECT(syscall(SYS_capset, &h, d) == 0);
	return had;
}

/* Nothing is forbidden. */
static bool at_liberty;

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(99);
}

/* libseccomp's question at its start: does the kernel have seccomp? */
static void probe(void)
{
	EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 && errno == EFAULT);
	EXPECT(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) == -1 && errno == EINVAL);
	EXPECT(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 1, NULL) == -1 && errno == EFAULT);
	at_liberty = true;
}

/* The same, in an image that may not read its own memory by a system call: some sandboxes take the
 * calls of debuggers away. */
static void blind(void)
{
	EXPECT(deny_call(SYS_process_vm_readv));
	EXPECT(execl("/proc/self/exe", "sandbox", "probe", (char *)NULL) == 0);
}

/* Calls that the kernel refuses, by both ways: for want of a filter, of a readable filter, of the
 * right. */
static void refused(void)
{
	struct sock_fprog usual = make_filter(0), empty = { 0, usual.filter },
			  long_one = { BPF_MAXINSNS + 1, usual.filter }, nowhere = { 1, NULL };
	struct sock_fprog *const bad[] = { &empty, &long_one, &nowhere, (struct sock_fprog *)8 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, bad[i]) == -1);
		EXPECT(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, bad[i]) == -1);
	}
	right_to_filter(true);
	/* A container may have said before that no more rights are wanted. */
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0) {
		EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &usual) == -1);
		EXPECT(errno == EACCES);
		EXPECT(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &usual) == -1);
		EXPECT(errno == EACCES);
	}
	EXPECT(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, &usual) == -1 && errno == EINVAL);
	at_liberty = true;
	say("free\n");
}

static void *confined_thread(void *arg)
{
	confined_work();
	return arg;
}

static void filter(void)
{
	work();
	confine(0);
	confined_work();
	say("confined\n");
}

static void filter_by_number(void)
{
	struct sock_fprog program = make_filter(0);

	work();
	EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	EXPECT(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
	confined_work();
	say("confined\n");
}

static void filter_with_right(void)
{
	struct sock_fprog program = make_filter(0);

	work();
	if (right_to_filter(false))
		EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	confined_work();
	say("confined, if it could be\n");
}

static void strict(void)
{
	work();
	EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0);
	confined_work();
	say("confined\n");
	/* exit_group is forbidden in this mode. */
	syscall(SYS_exit, 0);
}

static volatile int confined;

static void *older_thread(void *arg)
{
	while (!confined)
		burn(0.001);
	return arg;
}

/* Threads that started before, and others that start afterwards, end in the confined process. */
static void filter_with_threads(void)
{
	pthread_t older, younger;

	pthread_create(&older, NULL, older_thread, NULL);
	work();
	confine(THREADS);
	confined = 1;
	EXPECT(pthread_create(&younger, NULL, confined_thread, NULL) == 0);
	EXPECT(pthread_join(younger, NULL) == 0);
	EXPECT(pthread_join(older, NULL) == 0);
	say("confined\n");
}

static void fork_and_wait(void (*child)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		child();
		_exit(3);
	}
	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && status == 3 << 8);
}

static void grandchild(void)
{
	confined_work();
}

static void child(void)
{
	fork_and_wait(grandchild);
	say("child\n");
}

static void filter_forks(void)
{
	work();
	confine(FORKS);
	for (int i = 0; i < 3; i++)
		fork_and_wait(child);
	say("confined\n");
}

/* Other threads are in the loader's list, throw and allocate. */
static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	return 0;
}

static volatile int ended;

static void *lister(void *arg)
{
	while (!ended) {
		dl_iterate_phdr(visit, NULL);
		free(malloc(100));
	}
	return arg;
}

static void filter_forks_threads(void)
{
	pthread_t t;

	EXPECT(pthread_create(&t, NULL, lister, NULL) == 0);
	work();
	confine(FORKS | THREADS);
	for (int i = 0; i < 30; i++)
		fork_and_wait(grandchild);
	ended = 1;
	EXPECT(pthread_join(t, NULL) == 0);
	say("confined\n");
}

/* The program has stopped the profiler before. */
static void filter_forks_stopped(void)
{
	int (*stop)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "cprof_stop");
	pthread_t t;

	/* libc's preparations for the first thread aren't allowed later. */
	EXPECT(pthread_create(&t, NULL, confined_thread, NULL) == 0);
	EXPECT(pthread_join(t, NULL) == 0);
	work();
	if (stop)
		stop();
	confine(FORKS | THREADS);
	fork_and_wait(child);
	EXPECT(pthread_create(&t, NULL, confined_thread, NULL) == 0);
	EXPECT(pthread_join(t, NULL) == 0);
	say("confined\n");
}

static void become_nothing(void)
{
	char *argv[] = { (char *)"nothing", NULL };

	EXPECT(execv("/nonexistent/nothing", argv) == -1 && errno == ENOENT);
}

static void filter_execs(void)
{
	const size_t size = 65536;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t alternate = { .ss_sp = memory, .ss_size = size };

	EXPECT(sigaltstack(&alternate, NULL) == 0);
	work();
	confine(FORKS | EXECS);
	EXPECT(mprotect(memory, size / 2, PROT_READ) == 0);
	EXPECT(munmap(memory, size) == 0);
	fork_and_wait(become_nothing);
	become_nothing();
	say("confined\n");
}

static void strict_child(void)
{
	work();
	EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0);
	confined_work();
	say("child\n");
	syscall(SYS_exit, 3);
}

static void forks_strict(void)
{
	work();
	fork_and_wait(strict_child);
	say("free\n");
}

static void unshare_user(void)
{
	/* Changes nothing, and is allowed to the only thread of a process. */
	for (int i = 0; i < 100; i++)
		EXPECT(unshare(CLONE_THREAD) == 0);
	EXPECT(unshare(CLONE_NEWUSER) == 0);
	at_liberty = true;
}

/* The next child is process 1 of its namespace. */
static void unshare_pid(void)
{
	int status = -1;
	pid_t pid;

	EXPECT(unshare(CLONE_NEWPID) == 0);
	pid = fork();
	if (pid == 0) {
		work();
		/* Process 1 is not killed by signals that it has no handler for. */
		kill(getpid(), SIGTERM);
		raise(SIGHUP);
		work();
		exit(getpid() == 1 ? 4 : 1);
	}
	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && status == 4 << 8);
	at_liberty = true;
}

static void enter_user(void)
{
	int fds[2], fd = -1;
	char path[64];
	pid_t pid;

	EXPECT(pipe(fds) == 0);
	pid = fork();
	if (pid == 0) {
		char c = unshare(CLONE_NEWUSER) == 0 ? 'y' : 'n';

		if (write(fds[1], &c, 1) == 1)
			pause();
		_exit(0);
	}
	EXPECT(read(fds[0], path, 1) == 1 && path[0] == 'y');
	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	fd = open(path, O_RDONLY);
	EXPECT(setns(fd, CLONE_NEWUSER) == 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	at_liberty = true;
}

/* A table of its own for the only thread: nobody has the closed descriptors any more. */
static void close_all(bool by_number)
{
	int p[2], status = -1;
	char byte;
	pid_t pid;

	work();
	EXPECT(pipe(p) == 0);
	pid = fork();
	if (pid == 0) {
		close(p[1]);
		_exit(read(p[0], &byte, 1) == 0 ? 4 : 1);
	}
	EXPECT((by_number ? (int)syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_UNSHARE)
			  : close_range(3, ~0U, CLOSE_RANGE_UNSHARE)) == 0);
	EXPECT(waitpid(pid, &status, 0) == pid && status == 4 << 8);
	EXPECT(close_range(~0U, 0, CLOSE_RANGE_UNSHARE) == -1 && errno == EINVAL);
	at_liberty = true;
}

static void close_by_name(void)
{
	close_all(false);
}

static void close_by_number(void)
{
	close_all(true);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{ "probe", probe },
	{ "blind", blind },
	{ "refused", refused },
	{ "filter", filter },
	{ "filter-by-number", filter_by_number },
	{ "filter-with-right", filter_with_right },
	{ "strict", strict },
	{ "filter-threads", filter_with_threads },
	{ "filter-forks", filter_forks },
	{ "filter-forks-threads", filter_forks_threads },
	{ "filter-forks-stopped", filter_forks_stopped },
	{ "filter-execs", filter_execs },
	{ "forks-strict", forks_strict },
	{ "unshare-user", unshare_user },
	{ "unshare-pid", unshare_pid },
	{ "setns", enter_user },
	{ "close-range", close_by_name },
	{ "close-range-by-number", close_by_number },
};

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[2], "threaded"))
		have_a_thread();
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (argc > 1 && !strcmp(argv[1], ways[i].name))
			ways[i].run();
	if (at_liberty)
		work();
	else
		confined_work();
	HOST_END();
}
