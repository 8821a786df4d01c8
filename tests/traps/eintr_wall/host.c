/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread for each call that returns EINTR, or less than was asked for, after a signal handler in
 * spite of SA_RESTART. Each works for ever another little while and calls, so that whoever sends
 * signals to threads that run meets one that has just begun to wait. None may notice.
 *
 *   waits SECONDS [hidden | timers]    hidden: /proc does not show to us what our threads do
 *
 * io_uring_enter is left out with an argument: the kernel itself ends it early when a timer of the
 * thread's CPU clock expires, and only /proc shows in time who calls it.
 */
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "host.h"

#define BIG (1 << 20)

static double end;
static int epoll, queue, semaphores, quiet[2], full[2], listener;
static sem_t semaphore;
static int word;
static size_t finished;
static __thread unsigned handled;

/* The last wait of each is so long that the pacer finds it there, however little of the time before
 * a busy machine had left for waits. */
#define LAST_US 400000
static __thread long wait_us = 300;

static struct timespec in_us(long us)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += us * 1000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static int wait_ms(void)
{
	return wait_us < 1000 ? 1 : (int)(wait_us / 1000);
}

/* R, or 0 when the time was up. */
static int or_late(int r, int error)
{
	return r < 0 && errno == error ? 0 : r;
}

static const sigset_t *usr1(void)
{
	static __thread sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return &set;
}

/* With T, the time of a wait, and UNTIL, the moment when it is over. */
#define IN(name, call)                                                                             \
	static int in_##name(void)                                                                 \
	{                                                                                          \
		struct timespec t = { 0, wait_us * 1000 }, until = in_us(wait_us);                 \
		(void)t, (void)until;                                                              \
		return (int)(call);                                                                \
	}
IN(nanosleep, nanosleep(&t, NULL))
IN(clock_nanosleep, (errno = clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL)) ? -1 : 0)
IN(usleep, usleep((useconds_t)wait_us))
IN(poll, poll(NULL, 0, wait_ms()))
IN(ppoll, ppoll(NULL, 0, &t, NULL))
IN(select, select(0, NULL, NULL, NULL, &(struct timeval){ 0, wait_us }))
IN(pselect, pselect(0, NULL, NULL, NULL, &t, NULL))
IN(epoll_wait, epoll_wait(epoll, &(struct epoll_event){ 0 }, 1, wait_ms()))
IN(epoll_pwait, epoll_pwait(epoll, &(struct epoll_event){ 0 }, 1, wait_ms(), NULL))
IN(sem_timedwait, or_late(sem_timedwait(&semaphore, &until), ETIMEDOUT))
IN(futex, or_late((int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t), ETIMEDOUT))
IN(recv, or_late((int)recv(quiet[0], &(char){ 0 }, 1, 0), EAGAIN))
IN(accept, or_late(accept(listener, NULL, NULL), EAGAIN))
IN(sigtimedwait, or_late(sigtimedwait(usr1(), NULL, &t), EAGAIN))
IN(semtimedop, or_late(semtimedop(semaphores, &(struct sembuf){ 0, -1, 0 }, 1, &t), EAGAIN))

/* Only a handler ends these: it must be the program's own. */
static int in_pause(void)
{
	unsigned before = handled;

	pause();
	return handled == before ? -1 : 0;
}

static int in_sigsuspend(void)
{
	unsigned before = handled;
	sigset_t old;

	pthread_sigmask(SIG_BLOCK, usr1(), &old);
	sigsuspend(&old);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return handled == before ? -1 : 0;
}

struct message {
	long type;
	char text[8];
};

static int in_msgrcv(void)
{
	struct message m;

	return (int)msgrcv(queue, &m, sizeof(m.text), 1, 0);
}

static int in_send(void)
{
	static char data[BIG];

	return send(full[0], data, sizeof(data), 0) == sizeof(data) ? 0 : -1;
}

static int in_io_getevents(void)
{
	static __thread aio_context_t context;
	struct timespec t = { 0, wait_us * 1000 };
	struct io_event event;

	if (!context && syscall(SYS_io_setup, 1, &context) < 0)
		return usleep((useconds_t)wait_us); /* not in this kernel */
	return (int)syscall(SYS_io_getevents, context, 1, 1, &event, &t);
}

static int in_io_uring(void)
{
	static __thread int ring, first;
	struct io_uring_params p = { 0 };
	struct __kernel_timespec t = { 0, wait_us * 1000 };
	struct io_uring_getevents_arg arg = { .ts = (uint64_t)(uintptr_t)&t };

	if (!ring)
		ring = (int)syscall(SYS_io_uring_setup, 1, &p);
	if (ring < 0)
		return usleep((useconds_t)wait_us);
	if (!first) /* long enough to be seen here */
		t.tv_sec = 1;
	first = 1;
	return or_late((int)syscall(SYS_io_uring_enter, ring, 0, 1,
				    IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg,
				    sizeof(arg)),
		       ETIME);
}

static const struct {
	const char *name;
	int (*call)(void);
	unsigned helper; /* a handler (1) or a message (2) ends the call */
	int *socket;	 /* whose own time limit ends it */
} calls[] = {
	{ "nanosleep", in_nanosleep, 0, NULL },
	{ "clock_nanosleep", in_clock_nanosleep, 0, NULL },
	{ "usleep", in_usleep, 0, NULL },
	{ "poll", in_poll, 0, NULL },
	{ "ppoll", in_ppoll, 0, NULL },
	{ "select", in_select, 0, NULL },
	{ "pselect", in_pselect, 0, NULL },
	{ "epoll_wait", in_epoll_wait, 0, NULL },
	{ "epoll_pwait", in_epoll_pwait, 0, NULL },
	{ "sem_timedwait", in_sem_timedwait, 0, NULL },
	{ "futex", in_futex, 0, NULL },
	{ "recv with SO_RCVTIMEO", in_recv, 0, &quiet[0] },
	{ "accept with SO_RCVTIMEO", in_accept, 0, &listener },
	{ "sigtimedwait", in_sigtimedwait, 0, NULL },
	{ "semtimedop", in_semtimedop, 0, NULL },
	{ "pause", in_pause, 1, NULL },
	{ "sigsuspend", in_sigsuspend, 1, NULL },
	{ "msgrcv", in_msgrcv, 2, NULL },
	{ "send on a full socket", in_send, 0, NULL },
	{ "io_getevents", in_io_getevents, 0, NULL },
	{ "io_uring_enter", in_io_uring, 0, NULL },
};
#define CALLS (sizeof(calls) / sizeof(*calls))

static void on_usr1(int sig)
{
	handled++;
}

static void wait_longer(const int *socket)
{
	struct timeval t = { 0, LAST_US };

	wait_us = LAST_US;
	if (socket)
		setsockopt(*socket, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

static void *wait_again_and_again(void *arg)
{
	size_t i = (size_t)arg;
	unsigned long wrong = 0, times = 0;
	int error = 0;

	prctl(PR_SET_TIMERSLACK, 1);
	for (bool last = false; !last; times++) {
		last = host_clock(CLOCK_MONOTONIC) >= end;
		if (last)
			wait_longer(calls[i].socket);
		burn((double)(times * 7 % 31) * 1e-5);
		if (calls[i].call() >= 0)
			continue;
		error = errno;
		wrong++;
	}
	burn_and_tick(0);
	if (wrong)
		printf("%s: failed %lu times of %lu, with %s\n", calls[i].name, wrong, times,
		       strerror(error));
	EXPECT(!wrong);
	__atomic_add_fetch(&finished, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Empties the socket by and by. */
static void *drain(void *arg)
{
	static char data[BIG / 8];

	while (recv(full[1], data, sizeof(data), 0) > 0)
		usleep(50);
	return NULL;
}

static void setup(void)
{
	struct sigaction act = { .sa_handler = on_usr1 };
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct timeval t = { 0, 1000 };

	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sigaction(SIGUSR1, &act, NULL);
	epoll = epoll_create1(0);
	sem_init(&semaphore, 0, 0);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	queue = msgget(IPC_PRIVATE, 0600);
	EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, quiet) == 0);
	EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, full) == 0);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	EXPECT(bind(listener, (struct sockaddr *)&any, sizeof(any)) == 0 && !listen(listener, 1));
	setsockopt(quiet[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

/* Our own files under /proc are then somebody else's. */
static void hide(void)
{
	if (getuid() == 0 && (setgid(65534) || setuid(65534)))
		EXPECT(!"can't give up root");
	EXPECT(prctl(PR_SET_DUMPABLE, 0) == 0);
}

static void help(const pthread_t *threads, size_t n)
{
	struct message m = { 1, "next" };
	struct msqid_ds waiting;

	while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < n) {
		for (size_t i = 0; i < n; i++)
			if (calls[i].helper == 1)
				pthread_kill(threads[i], SIGUSR1);
		/* One at a time: with more in the queue nobody would wait for any. */
		if (msgctl(queue, IPC_STAT, &waiting) == 0 && !waiting.msg_qnum)
			msgsnd(queue, &m, sizeof(m.text), IPC_NOWAIT);
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	size_t n = CALLS - (argc > 2);
	pthread_t threads[CALLS], draining;

	if (argc > 2 && !strcmp(argv[2], "hidden"))
		hide();
	setup();
	end = host_clock(CLOCK_MONOTONIC) + (argc > 1 ? atof(argv[1]) : 2);
	pthread_create(&draining, NULL, drain, NULL);
	for (size_t i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, wait_again_and_again, (void *)i);
	help(threads, n);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	shutdown(full[0], SHUT_RDWR);
	pthread_join(draining, NULL);
	msgctl(queue, IPC_RMID, NULL);
	semctl(semaphores, 0, IPC_RMID);
	puts("done");
	HOST_END();
}
