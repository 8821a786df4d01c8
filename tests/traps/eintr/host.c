/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that return EINTR after a signal handler in spite of SA_RESTART: none may do so here.
 * Two threads work meanwhile, and this one works and sleeps in turns.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "host.h"

static int stop, epoll, queue, semaphores, sockets[2];
static sem_t semaphore;

static void *work(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		burn(0.002);
	return NULL;
}

static int in_poll(void)
{
	return poll(NULL, 0, 1);
}

static int in_ppoll(void)
{
	struct timespec t = { 0, 100000 };

	return ppoll(NULL, 0, &t, NULL);
}

static int in_select(void)
{
	struct timeval t = { 0, 100 };

	return select(0, NULL, NULL, NULL, &t);
}

static int in_pselect(void)
{
	struct timespec t = { 0, 100000 };

	return pselect(0, NULL, NULL, NULL, &t, NULL);
}

static int in_epoll_wait(void)
{
	struct epoll_event event;

	return epoll_wait(epoll, &event, 1, 1);
}

static int in_nanosleep(void)
{
	struct timespec t = { 0, 100000 };

	return nanosleep(&t, NULL);
}

static int in_clock_nanosleep(void)
{
	struct timespec t = { 0, 100000 };
	int err = clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);

	errno = err;
	return err ? -1 : 0;
}

static int in_usleep(void)
{
	return usleep(100);
}

static int in_semop(void)
{
	struct sembuf take = { 0, -1, 0 };
	struct timespec t = { 0, 100000 };
	int r = semtimedop(semaphores, &take, 1, &t);

	return r < 0 && errno == EAGAIN ? 0 : r;
}

static int in_sem_timedwait(void)
{
	struct timespec t;
	int r;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 100000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	r = sem_timedwait(&semaphore, &t);
	return r < 0 && errno == ETIMEDOUT ? 0 : r;
}

static int in_sigtimedwait(void)
{
	struct timespec t = { 0, 100000 };
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	r = sigtimedwait(&set, NULL, &t);
	return r < 0 && errno == EAGAIN ? 0 : r;
}

static int in_recv(void)
{
	char byte;
	int r = (int)recv(sockets[0], &byte, 1, 0);

	return r < 0 && errno == EAGAIN ? 0 : r;
}

/* Another thread answers, so that this one blocks without a time limit. It goes on after an EINTR
 * of its own: nobody is left waiting for it. */
struct message {
	long type;
	char text[8];
};

static void *answer(void *arg)
{
	struct message m = { 0 };
	ssize_t got;

	do {
		got = msgrcv(queue, &m, sizeof(m.text), 1, 0);
		EXPECT(got >= 0);
		m.type = 2;
		EXPECT(got < 0 || msgsnd(queue, &m, sizeof(m.text), 0) == 0);
	} while (got < 0 ? errno == EINTR : m.text[0] != 'q');
	return NULL;
}

static int in_msgrcv(void)
{
	struct message m = { 1, "ask" };

	if (msgsnd(queue, &m, sizeof(m.text), 0) < 0)
		return -1;
	return (int)msgrcv(queue, &m, sizeof(m.text), 2, 0);
}

static const struct {
	const char *name;
	int (*call)(void);
} calls[] = {
	{ "poll", in_poll },
	{ "ppoll", in_ppoll },
	{ "select", in_select },
	{ "pselect", in_pselect },
	{ "epoll_wait", in_epoll_wait },
	{ "nanosleep", in_nanosleep },
	{ "clock_nanosleep", in_clock_nanosleep },
	{ "usleep", in_usleep },
	{ "semtimedop", in_semop },
	{ "sem_timedwait", in_sem_timedwait },
	{ "sigtimedwait", in_sigtimedwait },
	{ "recv with SO_RCVTIMEO", in_recv },
	{ "msgrcv", in_msgrcv },
};

static void setup(void)
{
	struct timeval t = { 0, 1000 };

	prctl(PR_SET_TIMERSLACK, 1);
	epoll = epoll_create1(0);
	sem_init(&semaphore, 0, 0);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	queue = msgget(IPC_PRIVATE, 0600);
	EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	EXPECT(setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) == 0);
}

static void try(size_t i)
{
	int wrong = 0;

	/* A little work of ever other length, so that expiries come everywhere around the call. */
	for (int n = 0; n < 150; n++) {
		burn(n % 7 * 1e-5);
		if (calls[i].call() < 0)
			wrong++;
	}
	if (wrong)
		printf("%s: failed %d times, with %s\n", calls[i].name, wrong, strerror(errno));
	EXPECT(!wrong);
}

int main(void)
{
	struct message quit = { 1, "q" };
	pthread_t threads[2], answering;

	setup();
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	pthread_create(&answering, NULL, answer, NULL);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		try(i);
	msgsnd(queue, &quit, sizeof(quit.text), 0);
	pthread_join(answering, NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	msgctl(queue, IPC_RMID, NULL);
	semctl(semaphores, 0, IPC_RMID);
	puts("done");
	HOST_END();
}
