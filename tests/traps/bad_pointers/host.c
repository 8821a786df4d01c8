/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls each function that the profiler interposes with pointers that it must not read or write:
 * NULL, an odd address in the first page, a page that isn't mapped, one that can't be written, one
 * that can't be read, and the last byte before such a page. Each call is made in a child of its
 * own. Prints the result and errno, or the signal and the address of the fault.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#define BASE ((char *)0x200000000000)
#define PAGE ((size_t)4096)

enum { NOWHERE, ODD, UNMAPPED, READ_ONLY, UNREADABLE, AT_THE_END, KINDS };
static const char *const kinds[] = { "NULL", "1", "unmapped", "read-only", "unreadable", "end" };

static void *pointer(int kind)
{
	switch (kind) {
	case NOWHERE: return NULL;
	case ODD: return (void *)1;
	case UNMAPPED: return BASE + 8 * PAGE;
	case READ_ONLY: return BASE + PAGE;
	case UNREADABLE: return BASE + 2 * PAGE;
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
	int files[2], sockets[2], epoll;
} good;

typedef long call(void *p);

#define CALL(name, expression)                                                                     \
	static long name(void *p)                                                                  \
	{                                                                                          \
		return (long)(expression);                                                         \
	}

static char *const arguments[] = { "true", NULL };

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
	char *const environment[] = { "A=b", p, NULL };

	return execve("/bin/true", arguments, environment);
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

CALL(b_sigprocmask, sigprocmask(SIG_BLOCK, p, NULL))
CALL(b_pthread_sigmask, pthread_sigmask(SIG_SETMASK, p, NULL))
CALL(b_pthread_sigmask_old, pthread_sigmask(SIG_SETMASK, &good.set, p))
CALL(b_sigpending, sigpending(p))
CALL(b_sigsuspend, sigsuspend(p))
CALL(b_sigtimedwait, sigtimedwait(p, NULL, &good.moment))
CALL(b_sigtimedwait_time, sigtimedwait(&good.set, NULL, p))
CALL(b_sigwaitinfo, p ? sigwaitinfo(p, NULL) : 0)
CALL(b_sigwait, sigwait(p, &good.epoll))
CALL(b_sigaction, sigaction(SIGUSR1, p, NULL))
CALL(b_sigaction_old, sigaction(SIGUSR1, NULL, p))
CALL(b_sigaction_prof, sigaction(SIGPROF, p, NULL))
CALL(b_sigaction_prof_old, sigaction(SIGPROF, NULL, p))
CALL(b_raw_sigaction, syscall(SYS_rt_sigaction, SIGPROF, p, NULL, 8))
CALL(b_raw_sigaction_old, syscall(SYS_rt_sigaction, SIGPROF, NULL, p, 8))
CALL(b_sigaltstack, sigaltstack(p, NULL))
CALL(b_sigaltstack_old, sigaltstack(NULL, p))
CALL(b_raw_sigaltstack, syscall(SYS_sigaltstack, p, NULL))
CALL(b_setitimer, setitimer(ITIMER_REAL, p, NULL))
CALL(b_setitimer_old, setitimer(ITIMER_REAL, &good.timer, p))
CALL(b_setitimer_prof, setitimer(ITIMER_PROF, p, NULL))
CALL(b_setitimer_prof_old, setitimer(ITIMER_PROF, &good.timer, p))
CALL(b_getitimer, getitimer(ITIMER_PROF, p))
CALL(b_execve, execve(p, arguments, environ))
CALL(b_execve_arguments, p ? execve("/bin/true", p, environ) : 0)
CALL(b_execve_environment, execve("/bin/true", arguments, p))
CALL(b_execvpe, execvpe("true", arguments, p))
CALL(b_raw_execve, syscall(SYS_execve, "/bin/true", arguments, p))
CALL(b_stat, stat("/proc/self/task", p))
CALL(b_stat_path, stat(p, (void *)good.bytes))
CALL(b_lstat, lstat(p, (void *)good.bytes))
CALL(b_fstat, fstat(0, p))
CALL(b_fstatat, fstatat(AT_FDCWD, p, (void *)good.bytes, 0))
CALL(b_statx, statx(AT_FDCWD, "/proc/self/task", 0, STATX_ALL, p))
CALL(b_statx_path, statx(AT_FDCWD, p, 0, STATX_ALL, (void *)good.bytes))
CALL(b_open, open(p, O_RDONLY))
CALL(b_openat, openat(AT_FDCWD, p, O_RDONLY))
CALL(b_unlink, unlink(p))
CALL(b_rename, rename("/nowhere", p))
CALL(b_raw_open, syscall(SYS_openat, AT_FDCWD, p, O_RDONLY))
CALL(b_opendir, opendir(p) != NULL)
CALL(b_fopen, p ? fopen(p, "r") != NULL : 0)
CALL(b_closedir, closedir(p))
CALL(b_readdir, readdir(p) != NULL)
CALL(b_fclose, fclose(p))
CALL(b_freopen, freopen("/dev/null", "r", p) != NULL)
CALL(b_read, read(good.files[0], p, 8))
CALL(b_write, write(good.files[1], p, 8))
CALL(b_pread, pread(good.files[0], p, 8, 0))
CALL(b_readv, readv(good.files[0], p, 1))
CALL(b_writev, writev(good.files[1], p, 1))
CALL(b_preadv, preadv(good.files[0], p, 1, 0))
CALL(b_raw_read, syscall(SYS_read, good.files[0], p, 8))
CALL(b_raw_writev, syscall(SYS_writev, good.files[1], p, 1))
CALL(b_recv, recv(good.sockets[0], p, 8, MSG_DONTWAIT))
CALL(b_send, send(good.sockets[0], p, 8, MSG_DONTWAIT))
CALL(b_recvmsg, recvmsg(good.sockets[0], p, MSG_DONTWAIT))
CALL(b_sendmsg, sendmsg(good.sockets[0], p, MSG_DONTWAIT))
CALL(b_recvmmsg, recvmmsg(good.sockets[0], p, 1, MSG_DONTWAIT, NULL))
CALL(b_sendmmsg, sendmmsg(good.sockets[0], p, 1, MSG_DONTWAIT))
CALL(b_connect, connect(good.sockets[0], p, 16))
CALL(b_accept, accept(good.sockets[0], p, p))
CALL(b_sendto, sendto(good.sockets[0], good.bytes, 1, MSG_DONTWAIT, p, 16))
CALL(b_recvfrom, recvfrom(good.sockets[0], good.bytes, 1, MSG_DONTWAIT, p, p))
CALL(b_sendfile, sendfile(good.files[1], good.files[0], p, 8))
CALL(b_copy_file_range, copy_file_range(good.files[0], p, good.files[1], NULL, 8, 0))
CALL(b_poll, poll(p, 1, 1))
CALL(b_ppoll, ppoll(NULL, 0, p ? p : &good.moment, NULL))
CALL(b_ppoll_mask, ppoll(NULL, 0, &good.moment, p))
CALL(b_select, select(3, p, NULL, NULL, (void *)&good.timer.it_value))
CALL(b_select_time, p ? select(0, NULL, NULL, NULL, p) : 0)
CALL(b_pselect, pselect(0, NULL, NULL, NULL, &good.moment, p))
CALL(b_epoll_wait, epoll_wait(good.epoll, p, 1, 1))
CALL(b_epoll_pwait, epoll_pwait(good.epoll, (void *)good.bytes, 1, 1, p))
CALL(b_getdents, syscall(SYS_getdents64, good.files[0], p, 100))
CALL(b_futex_wait, syscall(SYS_futex, p, 0, 1, &good.moment, NULL, 0))
CALL(b_futex_wait_time, p ? syscall(SYS_futex, good.bytes, 0, 0, p, NULL, 0) : 0)
CALL(b_futex_bitset, syscall(SYS_futex, p, 9, 1, NULL, NULL, -1))
CALL(b_futex_wake, syscall(SYS_futex, p, 1, 1, NULL, NULL, 0))
CALL(b_futex_wake_op, syscall(SYS_futex, good.bytes, 5, 1, 1, p, 0))
CALL(b_futex_requeue, syscall(SYS_futex, good.bytes, 4, 1, 1, p, 0))
CALL(b_futex_lock_pi, syscall(SYS_futex, p, 6 | 128, 0, &good.moment, NULL, 0))
CALL(b_futex_waitv, syscall(SYS_futex_waitv, p, 1, 0, NULL, 0))
CALL(b_futex_waitv_none, syscall(SYS_futex_waitv, p, 0, 0, &good.moment, 0))
CALL(b_seccomp, syscall(SYS_seccomp, 1, 0, p))
CALL(b_prctl_seccomp, prctl(PR_SET_SECCOMP, 2, p))
CALL(b_prctl_name, prctl(PR_SET_NAME, p))
CALL(b_mq_notify, mq_notify(-1, p))
CALL(b_mutex_lock, pthread_mutex_lock(p))
CALL(b_mutex_unlock, pthread_mutex_unlock(p))
CALL(b_mutex_trylock, pthread_mutex_trylock(p))
CALL(b_mutex_timedlock, pthread_mutex_timedlock(p, &good.moment))
CALL(b_mutex_timedlock_time, pthread_mutex_timedlock(&good.mutex, p))
CALL(b_rwlock_rdlock, pthread_rwlock_rdlock(p))
CALL(b_rwlock_wrlock, pthread_rwlock_wrlock(p))
CALL(b_rwlock_tryrdlock, pthread_rwlock_tryrdlock(p))
CALL(b_rwlock_trywrlock, pthread_rwlock_trywrlock(p))
CALL(b_rwlock_unlock, pthread_rwlock_unlock(p))
CALL(b_rwlock_timed, pthread_rwlock_timedrdlock(p, &good.moment))
CALL(b_cond_signal, pthread_cond_signal(p))
CALL(b_cond_broadcast, pthread_cond_broadcast(p))
CALL(b_cond_wait, pthread_cond_wait(p, &good.mutex))
CALL(b_cond_wait_mutex, pthread_cond_wait(&good.cond, p))
CALL(b_cond_timedwait, pthread_cond_timedwait(&good.cond, &good.mutex, p))
CALL(b_spin_lock, pthread_spin_lock(p))
CALL(b_spin_trylock, pthread_spin_trylock(p))
CALL(b_barrier_wait, pthread_barrier_wait(p))
CALL(b_mtx_lock, mtx_lock(p))
CALL(b_mtx_unlock, mtx_unlock(p))
CALL(b_cnd_signal, cnd_signal(p))
CALL(b_cnd_wait, cnd_wait((void *)&good.cond, p))
CALL(b_sem_wait, sem_wait(p))
CALL(b_sem_trywait, sem_trywait(p))
CALL(b_sem_post, sem_post(p))
CALL(b_sem_timedwait, sem_timedwait(p, &good.moment))
CALL(b_sem_timedwait_time, sem_timedwait(&good.sem, p))
CALL(b_join_value, pthread_tryjoin_np(pthread_self(), p))
static void *nothing(void *arg)
{
	return arg;
}

static long b_thread_attributes(void *p)
{
	pthread_t thread;

	return p ? pthread_create(&thread, p, nothing, NULL) : 0;
}

#define NAMED(name)                                                                                \
	{                                                                                          \
#name, name                                                                        \
	}

static const struct {
	const char *name;
	call *call;
} calls[] = {
	NAMED(b_sigprocmask),
	NAMED(masked),
	NAMED(b_pthread_sigmask),
	NAMED(b_pthread_sigmask_old),
	NAMED(b_sigpending),
	NAMED(b_sigsuspend),
	NAMED(held_suspend),
	NAMED(b_sigtimedwait),
	NAMED(b_sigtimedwait_time),
	NAMED(b_sigwaitinfo),
	NAMED(b_sigwait),
	NAMED(b_sigaction),
	NAMED(b_sigaction_old),
	NAMED(b_sigaction_prof),
	NAMED(b_sigaction_prof_old),
	NAMED(b_raw_sigaction),
	NAMED(b_raw_sigaction_old),
	NAMED(b_sigaltstack),
	NAMED(b_sigaltstack_old),
	NAMED(b_raw_sigaltstack),
	NAMED(b_setitimer),
	NAMED(b_setitimer_old),
	NAMED(b_setitimer_prof),
	NAMED(b_setitimer_prof_old),
	NAMED(b_getitimer),
	NAMED(b_execve),
	NAMED(b_execve_arguments),
	NAMED(b_execve_environment),
	NAMED(strings),
	NAMED(b_execvpe),
	NAMED(b_raw_execve),
	NAMED(spawned),
	NAMED(b_stat),
	NAMED(b_stat_path),
	NAMED(b_lstat),
	NAMED(b_fstat),
	NAMED(b_fstatat),
	NAMED(b_statx),
	NAMED(b_statx_path),
	NAMED(b_open),
	NAMED(b_openat),
	NAMED(b_unlink),
	NAMED(b_rename),
	NAMED(b_raw_open),
	NAMED(b_opendir),
	NAMED(b_fopen),
	NAMED(b_closedir),
	NAMED(b_readdir),
	NAMED(b_fclose),
	NAMED(b_freopen),
	NAMED(b_read),
	NAMED(b_write),
	NAMED(b_pread),
	NAMED(b_readv),
	NAMED(b_writev),
	NAMED(b_preadv),
	NAMED(b_raw_read),
	NAMED(b_raw_writev),
	NAMED(b_recv),
	NAMED(b_send),
	NAMED(b_recvmsg),
	NAMED(b_sendmsg),
	NAMED(b_recvmmsg),
	NAMED(b_sendmmsg),
	NAMED(b_connect),
	NAMED(b_accept),
	NAMED(b_sendto),
	NAMED(b_recvfrom),
	NAMED(b_sendfile),
	NAMED(b_copy_file_range),
	NAMED(b_poll),
	NAMED(b_ppoll),
	NAMED(b_ppoll_mask),
	NAMED(b_select),
	NAMED(b_select_time),
	NAMED(b_pselect),
	NAMED(b_epoll_wait),
	NAMED(b_epoll_pwait),
	NAMED(b_getdents),
	NAMED(b_futex_wait),
	NAMED(b_futex_wait_time),
	NAMED(b_futex_bitset),
	NAMED(b_futex_wake),
	NAMED(b_futex_wake_op),
	NAMED(b_futex_requeue),
	NAMED(b_futex_lock_pi),
	NAMED(b_futex_waitv),
	NAMED(b_futex_waitv_none),
	NAMED(b_seccomp),
	NAMED(b_prctl_seccomp),
	NAMED(b_prctl_name),
	NAMED(b_mq_notify),
	NAMED(b_mutex_lock),
	NAMED(b_mutex_unlock),
	NAMED(b_mutex_trylock),
	NAMED(b_mutex_timedlock),
	NAMED(b_mutex_timedlock_time),
	NAMED(b_rwlock_rdlock),
	NAMED(b_rwlock_wrlock),
	NAMED(b_rwlock_tryrdlock),
	NAMED(b_rwlock_trywrlock),
	NAMED(b_rwlock_unlock),
	NAMED(b_rwlock_timed),
	NAMED(b_cond_signal),
	NAMED(b_cond_broadcast),
	NAMED(b_cond_wait),
	NAMED(b_cond_wait_mutex),
	NAMED(b_cond_timedwait),
	NAMED(b_spin_lock),
	NAMED(b_spin_trylock),
	NAMED(b_barrier_wait),
	NAMED(b_mtx_lock),
	NAMED(b_mtx_unlock),
	NAMED(b_cnd_signal),
	NAMED(b_cnd_wait),
	NAMED(b_sem_wait),
	NAMED(b_sem_trywait),
	NAMED(b_sem_post),
	NAMED(b_sem_timedwait),
	NAMED(b_sem_timedwait_time),
	NAMED(b_join_value),
	NAMED(b_thread_attributes),
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
}

static void try(unsigned i, int kind)
{
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	char line[80];
	long r;
	int n;

	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	/* A wait that never ends is a result, too. */
	alarm(1);
	pthread_mutex_lock(&good.mutex);
	errno = 0;
	r = calls[i].call(pointer(kind));
	n = snprintf(line, sizeof(line), "%ld, errno %d\n", r, r ? errno : 0);
	if (write(1, line, (size_t)n) != n)
		_exit(2);
	_exit(0);
}

/* These wait for ever. */
static int waits(unsigned i, int kind)
{
	int no_kind = kind == READ_ONLY || kind == AT_THE_END;

	return (no_kind && strstr(calls[i].name, "sig") && strstr(calls[i].name, "wait")) ||
	       (no_kind && strstr(calls[i].name, "suspend")) ||
	       (kind == NOWHERE && strstr(calls[i].name, "timed"));
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
