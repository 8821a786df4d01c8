/* SPDX-License-Identifier: BSD-3-Clause */
/* One thread for each cause of a wait. The function wait_CAUSE_KIND waits for as long as the
 * program lives, at a descriptor of that kind, if it has one.
 *
 *   wall-causes-host        lives for a second
 *   wall-causes-host stay   lives until its input ends, and says first which child is waited for
 */
#include <dirent.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include "system.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, monitor = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t again = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t again_cond = PTHREAD_COND_INITIALIZER;
static int again_waits;
static uint32_t word;
static FILE *stream;
static pthread_barrier_t barrier;
static pthread_t sleeper;
static sem_t semaphore;
static struct timespec minute = { 60, 0 };
static pid_t child;

static void read_forever(int fd)
{
	char c[256];

	if (fd < 0 || read(fd, c, sizeof(c)) != -2)
		_exit(9);
}

static int new_pipe(void)
{
	int fds[2];

	return pipe(fds) ? -1 : fds[0];
}

static int new_fifo(void)
{
	char name[] = "/tmp/cprof-fifo-XXXXXX";
	int fd = mkstemp(name), fifo;

	close(fd);
	unlink(name);
	fifo = mkfifo(name, 0600) ? -1 : open(name, O_RDWR);
	unlink(name);
	return fifo;
}

static int new_socket(int family, int type)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fds[2], fd;

	if (family == AF_UNIX)
		return socketpair(family, type, 0, fds) ? -1 : fds[0];
	fd = socket(family, type, 0);
	bind(fd, (struct sockaddr *)&any, sizeof(any));
	if (type == SOCK_STREAM)
		listen(fd, 1);
	return fd;
}

static int new_terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);

	return master < 0 || grantpt(master) || unlockpt(master)
		       ? -1
		       : open(ptsname(master), O_RDONLY | O_NOCTTY);
}

static int new_timer(void)
{
	struct itimerspec t = { .it_value = minute };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	timerfd_settime(fd, 0, &t, NULL);
	return fd;
}

static int new_signals(void)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGURG);
	return signalfd(-1, &s, 0);
}

static int new_epoll(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, new_pipe(), &e);
	return fd;
}

static void wait_for_flock(void)
{
	char name[] = "/tmp/cprof-lock-XXXXXX";
	int a = mkstemp(name), b = open(name, O_RDONLY);

	unlink(name);
	flock(a, LOCK_EX);
	flock(b, LOCK_EX);
}

static void wait_for_record_lock(void)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char name[] = "/tmp/cprof-lock-XXXXXX";
	int a = mkstemp(name), b = open(name, O_RDWR);

	unlink(name);
	fcntl(a, F_OFD_SETLK, &all);
	fcntl(b, F_OFD_SETLKW, &all);
}

/* The kernel asks a listener, which never answers, before it reads the directory. The filter is
 * this thread's. It is set by the system call itself, because libc's function ends profiling. */
static void wait_for_directory(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getdents64, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };
	DIR *directory = opendir("/");
	long (*call)(long, ...);

	*(void **)&call = dlsym(dlopen("libc.so.6", RTLD_LAZY), "syscall");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!call || call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			  &filter) < 0)
		printf("no getdents\n");
	else
		readdir(directory);
}

static void wait_for_condition(void)
{
	pthread_mutex_lock(&monitor);
	pthread_cond_wait(&cond, &monitor);
}

static void wait_for_poll(void)
{
	struct pollfd p = { .fd = new_pipe(), .events = POLLIN };

	poll(&p, 1, -1);
}

static void wait_for_select(void)
{
	int fd = new_pipe();
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	select(fd + 1, &set, NULL, NULL, NULL);
}

static void wait_for_signal(void)
{
	sigset_t s;
	int n;

	sigemptyset(&s);
	sigaddset(&s, SIGURG);
	sigwait(&s, &n);
}

static void wait_for_packet(void)
{
	char c;

	recv(new_socket(AF_INET, SOCK_DGRAM), &c, 1, 0);
}

/* A poll of two. */
static void wait_for_many(void)
{
	struct pollfd p[2] = { { .fd = new_pipe(), .events = POLLIN },
			       { .fd = new_pipe(), .events = POLLIN } };

	poll(p, 2, -1);
}

static void read_of_peer(void)
{
	struct sockaddr_in to;
	socklen_t size = sizeof(to);
	int listener = new_socket(AF_INET, SOCK_STREAM), fd = socket(AF_INET, SOCK_STREAM, 0);

	if (getsockname(listener, (struct sockaddr *)&to, &size) ||
	    connect(fd, (struct sockaddr *)&to, size))
		_exit(9);
	read_forever(fd);
}

/* It gets what it waits for, and then waits for the mutex. */
static void wait_for_mutex_again(void)
{
	pthread_mutex_lock(&again);
	again_waits = 1;
	pthread_cond_wait(&again_cond, &again);
}

static void let_wait_again(void)
{
	struct timespec soon = { 0, 1000000 };

	for (;;) {
		pthread_mutex_lock(&again);
		if (again_waits)
			break;
		pthread_mutex_unlock(&again);
		nanosleep(&soon, NULL);
	}
	pthread_cond_signal(&again_cond);
}

static void wait_for_word(void)
{
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

#define WAITS(X)                                                                                   \
	X(lock_none, pthread_mutex_lock(&mutex))                                                   \
	X(lock_rwlock, pthread_rwlock_wrlock(&rwlock))                                             \
	X(lock_flock, wait_for_flock())                                                            \
	X(lock_fcntl, wait_for_record_lock())                                                      \
	X(disk_getdents, wait_for_directory())                                                     \
	X(lock_again, wait_for_mutex_again())                                                      \
	X(lock_stream, fputc('x', stream))                                                         \
	X(lock_word, wait_for_word())                                                              \
	X(condition_none, wait_for_condition())                                                    \
	X(semaphore_none, sem_wait(&semaphore))                                                    \
	X(barrier_none, pthread_barrier_wait(&barrier))                                            \
	X(thread_none, pthread_join(sleeper, NULL))                                                \
	X(sleep_none, nanosleep(&minute, NULL))                                                    \
	X(sleep_poll, poll(NULL, 0, 60000))                                                        \
	X(sleep_select, select(0, NULL, NULL, NULL, &(struct timeval){ 60, 0 }))                   \
	X(pipe_pipe, read_forever(new_pipe()))                                                     \
	X(pipe_fifo, read_forever(new_fifo()))                                                     \
	X(pipe_eventfd, read_forever(eventfd(0, 0)))                                               \
	X(network_unix, read_forever(new_socket(AF_UNIX, SOCK_STREAM)))                            \
	X(network_tcp, accept(new_socket(AF_INET, SOCK_STREAM), NULL, NULL))                       \
	X(network_udp, wait_for_packet())                                                          \
	X(network_peer, read_of_peer())                                                            \
	X(poll_none, wait_for_poll())                                                              \
	X(poll_many, wait_for_many())                                                              \
	X(poll_select, wait_for_select())                                                          \
	X(poll_epoll, epoll_wait(new_epoll(), &(struct epoll_event){ 0 }, 1, -1))                  \
	X(poll_inotify, read_forever(inotify_init()))                                              \
	X(child_none, waitpid(child, NULL, 0))                                                     \
	X(timer_timerfd, read_forever(new_timer()))                                                \
	X(terminal_tty, read_forever(new_terminal()))                                              \
	X(signal_none, wait_for_signal())                                                          \
	X(signal_signalfd, read_forever(new_signals()))

#define FUNCTION(name, call)                                                                       \
	__attribute__((noipa)) static void *wait_##name(void *nothing)                             \
	{                                                                                          \
		(void)!(long)(call, 0);                                                            \
		__asm__ volatile("# " #name ::: "memory");                                         \
		return nothing;                                                                    \
	}
WAITS(FUNCTION)

static void *sleep_long(void *nothing)
{
	prctl(PR_SET_NAME, "sleeper");
	nanosleep(&minute, NULL);
	return nothing;
}

#define THREAD(name, call) pthread_create(&t, NULL, wait_##name, NULL);

int main(int argc, char **argv)
{
	struct timespec second = { 1, 200000000 };
	sigset_t s;
	pthread_t t;
	pid_t parent;

	sigemptyset(&s);
	sigaddset(&s, SIGURG);
	sigprocmask(SIG_BLOCK, &s, NULL);
	/* The child ends after this process. If it was ended before, its waiter would return. */
	parent = getpid();
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			nanosleep(&minute, NULL);
		_exit(0);
	}
	pthread_create(&sleeper, NULL, sleep_long, NULL);
	pthread_barrier_init(&barrier, NULL, 2);
	sem_init(&semaphore, 0, 0);
	pthread_mutex_lock(&mutex);
	pthread_rwlock_rdlock(&rwlock);
	stream = fopen("/dev/null", "w");
	flockfile(stream);
	WAITS(THREAD)
	let_wait_again();
	if (argc > 1 && argv[1]) {
		printf("child %d\n", (int)child);
		fflush(stdout);
		while (getchar() != EOF)
			;
	} else {
		nanosleep(&second, NULL);
	}
	return 0;
}
