/* SPDX-License-Identifier: BSD-3-Clause */
/* Things that end when their process closes a descriptor: a message queue's notification, dnotify,
 * a lease, locks of fcntl and of flock. The program closes none, so all of it stays, also after a
 * change of credentials.
 *
 *   closings DIR start|setuid|threads|number|children
 *
 * start: nothing but that. threads: the change is made with a second thread there. number: the
 * notification is asked for by syscall().
 */
#include <mqueue.h>
#include <sys/file.h>

#include "host.h"

#define LOOKS 20
#define CHILDREN 10

static volatile int queue_signals, directory_signals;
static struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
static int release[2];

static void on_queue(int sig)
{
	queue_signals++;
}

static void on_directory(int sig)
{
	directory_signals++;
}

static int open_in(const char *directory, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return open(path, O_RDWR | O_CREAT, 0600);
}

static mqd_t make_queue(void)
{
	char name[64];
	mqd_t queue;

	snprintf(name, sizeof(name), "/cprof-closings-%d", getpid());
	queue = mq_open(name, O_RDWR | O_CREAT, 0600, NULL);
	mq_unlink(name);
	return queue;
}

static bool is_registered(mqd_t queue)
{
	return mq_notify(queue, &event) < 0 && errno == EBUSY;
}

/* Another process finds the file locked. */
static bool is_locked(int fd)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		struct flock lock = { .l_type = F_WRLCK };

		_exit(fcntl(fd, F_SETLK, &lock) < 0 ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return status == 0;
}

static void *waits(void *arg)
{
	char c;

	EXPECT(read(release[0], &c, 1) == 0);
	return arg;
}

/* A look that finds none makes another. */
static bool stays_registered(mqd_t queue)
{
	int kept = 0;

	while (kept < LOOKS && is_registered(queue)) {
		usleep(10000);
		kept++;
	}
	return kept == LOOKS;
}

/* Each asks at once, when a task for it has just been made. */
static int ask_in_children(mqd_t queue)
{
	int status;

	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		if (!child)
			_exit(mq_notify(queue, &event) == 0 && stays_registered(queue) ? 0 : 1);
		EXPECT(waitpid(child, &status, 0) == child && !status);
	}
	puts("done");
	HOST_END();
}

static void look(const char *directory, mqd_t queue, int locked, int flocked, int leased)
{
	int again = open_in(directory, "flocked");

	EXPECT(stays_registered(queue));
	EXPECT(mq_send(queue, "m", 1, 0) == 0);
	EXPECT(queue_signals == 1);
	EXPECT(is_locked(locked));
	EXPECT(flock(again, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK);
	EXPECT(flock(flocked, LOCK_EX) == 0);
	EXPECT(fcntl(leased, F_GETLEASE) == F_WRLCK);
	directory_signals = 0;
	close(open_in(directory, "new"));
	EXPECT(directory_signals == 1);
}

int main(int argc, char **argv)
{
	struct flock lock = { .l_type = F_WRLCK };
	const char *how = argv[2];
	int directory, locked, flocked, leased;
	mqd_t queue = make_queue();
	pthread_t thread;

	if (argc < 3)
		return 2;
	signal(SIGUSR1, on_queue);
	signal(SIGIO, on_directory);
	if (queue < 0)
		return 77;
	if (!strcmp(how, "children"))
		return ask_in_children(queue);
	if (strcmp(how, "number"))
		EXPECT(mq_notify(queue, &event) == 0);
	else
		EXPECT(syscall(SYS_mq_notify, queue, &event) == 0);
	directory = open(argv[1], O_RDONLY | O_DIRECTORY);
	EXPECT(fcntl(directory, F_NOTIFY, DN_CREATE | DN_MULTISHOT) == 0);
	locked = open_in(argv[1], "locked");
	EXPECT(fcntl(locked, F_SETLK, &lock) == 0);
	flocked = open_in(argv[1], "flocked");
	EXPECT(flock(flocked, LOCK_EX) == 0);
	leased = open_in(argv[1], "leased");
	EXPECT(fcntl(leased, F_SETLEASE, F_WRLCK) == 0);
	EXPECT(pipe(release) == 0);
	if (!strcmp(how, "threads"))
		EXPECT(pthread_create(&thread, NULL, waits, NULL) == 0);
	if (strcmp(how, "start"))
		EXPECT(setuid(getuid()) == 0);
	look(argv[1], queue, locked, flocked, leased);
	close(release[1]);
	if (!strcmp(how, "threads"))
		pthread_join(thread, NULL);
	puts("done");
	HOST_END();
}
