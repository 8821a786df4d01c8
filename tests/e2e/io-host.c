/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes known calls, for io.sh.
 *
 *   io-host counts DIR N   N calls of each kind, and some more
 *   io-host delays DIR   waits, and prints how long they took: NAME NS
 *   io-host crowd DIR    threads that live for a few calls each, and two dumps meanwhile
 *   io-host uring DIR   maps a ring of io_uring; exit status 77 if the kernel refuses it
 */
#include <arpa/inet.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "clock.h"
#include "host.h"

static volatile int sink;
#define DIFFERS() (sink = __LINE__) /* or equal functions would be folded into one */

/* ---- counts ---- */

NOINLINE static void pipes(int n)
{
	char c[7] = "abcdef";
	int p[2];

	EXPECT(pipe(p) == 0);
	for (int i = 0; i < n; i++) {
		EXPECT(write(p[1], c, 7) == 7);
		EXPECT(read(p[0], c, 5) == 5);
		EXPECT(syscall(SYS_read, p[0], c, 2) == 2);
	}
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	for (int i = 0; i < n / 20; i++)
		EXPECT(read(p[0], c, 1) == -1 && errno == EAGAIN);
	EXPECT(close(p[0]) == 0 && close(p[1]) == 0);
	DIFFERS();
}

NOINLINE static void sockets(int type, int family, int n)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(a);
	int s[2], listening;
	char b[100];

	if (family == AF_UNIX) {
		EXPECT(socketpair(AF_UNIX, type, 0, s) == 0);
	} else {
		listening = socket(AF_INET, SOCK_STREAM, 0);
		EXPECT(bind(listening, (struct sockaddr *)&a, size) == 0 &&
		       listen(listening, 1) == 0 &&
		       getsockname(listening, (struct sockaddr *)&a, &size) == 0);
		s[0] = socket(AF_INET, SOCK_STREAM, 0);
		EXPECT(connect(s[0], (struct sockaddr *)&a, size) == 0);
		s[1] = accept(listening, NULL, NULL);
		EXPECT(s[1] >= 0);
		close(listening);
	}
	memset(b, 'x', sizeof(b));
	for (int i = 0; i < n; i++) {
		struct iovec v[2] = { { b, 40 }, { b, 60 } };
		struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

		EXPECT(send(s[0], b, 100, 0) == 100);
		EXPECT(recvmsg(s[1], &m, MSG_WAITALL) == 100);
	}
	close(s[0]);
	close(s[1]);
	DIFFERS();
}

NOINLINE static void files(const char *path, int n)
{
	struct stat st;
	char b[4096];
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0640);

	EXPECT(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0640);
	memset(b, 'x', sizeof(b));
	for (int i = 0; i < n; i++)
		EXPECT(pwrite(fd, b, 4096, i * 4096L) == 4096);
	for (int i = 0; i < n; i++)
		EXPECT(pread(fd, b, 4096, i * 4096L) == 4096);
	EXPECT(fsync(fd) == 0 && fdatasync(fd) == 0);
	EXPECT(close(fd) == 0);
	for (int i = 0; i < n / 20; i++)
		EXPECT(open("/nonexistent/x", O_RDONLY) == -1 && errno == ENOENT);
	EXPECT(stat(path, &st) == 0);
	EXPECT(unlink(path) == 0);
	DIFFERS();
}

/* The same number is a file's, then a socket's, then a pipe's. */
NOINLINE static void numbers(const char *path)
{
	char c = 'x';
	int p[2], fd = open(path, O_CREAT | O_RDWR, 0600), s[2], f;

	EXPECT(write(fd, &c, 1) == 1);
	f = fd;
	close(fd);
	EXPECT(socketpair(AF_UNIX, SOCK_DGRAM, 0, s) == 0 && s[0] == f);
	EXPECT(write(s[0], &c, 1) == 1);
	EXPECT(pipe(p) == 0 && dup2(p[1], f) == f);
	EXPECT(write(f, &c, 1) == 1);
	close(f);
	close(s[1]);
	close(p[0]);
	close(p[1]);
	EXPECT(unlink(path) == 0);
	DIFFERS();
}

static int how_many;

static void *thread(void *path)
{
	sockets(SOCK_STREAM, AF_INET, how_many);
	return path;
}

static int counts(char *path)
{
	pthread_t t;

	pipes(how_many);
	sockets(SOCK_DGRAM, AF_UNIX, how_many);
	EXPECT(pthread_create(&t, NULL, thread, path) == 0 && pthread_join(t, NULL) == 0);
	files(path, how_many);
	numbers(path);
	HOST_END();
}

/* ---- delays ---- */

#define WAITS 3
#define WAIT_US 40000

static void *writes_late(void *arg)
{
	int fd = *(int *)arg;

	for (int i = 0; i < WAITS; i++) {
		usleep(WAIT_US);
		EXPECT(write(fd, "x", 1) == 1);
	}
	return NULL;
}

/* Sum up how long CALL takes each time. */
#define TIMED(sum, call)                                                                           \
	do {                                                                                       \
		uint64_t began = now_ns();                                                         \
		EXPECT(call);                                                                      \
		sum += now_ns() - began;                                                           \
	} while (0)

NOINLINE static uint64_t reads_pipe(int fd)
{
	uint64_t sum = 0;
	char c;

	for (int i = 0; i < WAITS; i++)
		TIMED(sum, read(fd, &c, 1) == 1);
	return sum;
}

NOINLINE static uint64_t receives(int fd)
{
	uint64_t sum = 0;
	char c;

	for (int i = 0; i < WAITS; i++)
		TIMED(sum, recv(fd, &c, 1, 0) == 1);
	return sum;
}

NOINLINE static uint64_t polls(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t sum = 0;
	char c;

	for (int i = 0; i < WAITS; i++) {
		TIMED(sum, poll(&p, 1, -1) == 1);
		EXPECT(read(fd, &c, 1) == 1);
	}
	return sum;
}

NOINLINE static uint64_t syncs(const char *path)
{
	int fd = open(path, O_CREAT | O_RDWR, 0600);
	char *b = calloc(1, 1 << 20);
	uint64_t sum = 0;

	for (int i = 0; i < WAITS; i++) {
		EXPECT(write(fd, b, 1 << 20) == 1 << 20);
		TIMED(sum, fsync(fd) == 0);
	}
	close(fd);
	unlink(path);
	free(b);
	return sum;
}

/* Returns how long the thread has been ready to run without a processor. */
static uint64_t ready_ns(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	unsigned long long ready = 0;

	EXPECT(f && fscanf(f, "%*u %llu", &ready) == 1);
	fclose(f);
	return ready;
}

static void print_delay(const char *name, uint64_t took, uint64_t ready_before)
{
	printf("%s %llu %llu\n", name, (unsigned long long)took,
	       (unsigned long long)(ready_ns() - ready_before));
}

static void from(uint64_t (*f)(int), const char *name, int in, int out)
{
	uint64_t ready = ready_ns();
	pthread_t t;

	EXPECT(pthread_create(&t, NULL, writes_late, &out) == 0);
	print_delay(name, f(in), ready);
	pthread_join(t, NULL);
	close(in);
	close(out);
}

static int delays(char *path)
{
	uint64_t ready;
	int p[2];

	EXPECT(pipe(p) == 0);
	from(reads_pipe, "reads_pipe", p[0], p[1]);
	EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, p) == 0);
	from(receives, "receives", p[0], p[1]);
	EXPECT(pipe(p) == 0);
	from(polls, "polls", p[0], p[1]);
	ready = ready_ns();
	print_delay("syncs", syncs(path), ready);
	HOST_END();
}

/* ---- crowd ---- */

NOINLINE static void fails(int n)
{
	for (int i = 0; i < n; i++)
		EXPECT(open("/nonexistent/x", O_RDONLY) == -1);
	DIFFERS();
}

/* What goes to /dev/null in one call is a thousand times what the others write. */
static void *lives_briefly(void *arg)
{
	static char much[20000];
	int null = open("/dev/null", O_WRONLY);

	for (int i = 0; i < 20; i++)
		EXPECT(write(null, much, (size_t)(1 + i)) == 1 + i);
	EXPECT(write(null, much, sizeof(much)) == sizeof(much));
	fails((int)(intptr_t)arg % 3);
	EXPECT(close(null) == 0);
	return NULL;
}

static int over;

/* Calls come also between what a dump reads. */
static void *reads_on(void *arg)
{
	int zero = open("/dev/zero", O_RDONLY);
	char c[64];

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		EXPECT(read(zero, c, sizeof(c)) == sizeof(c));
	return arg;
}

/* Before the next signal, or the two are one. At most a minute. */
static void dump(const char *dir, int number)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/crowd.%04d.pb", dir, number);
	raise(SIGUSR2);
	for (int i = 0; i < 60000 && access(path, F_OK); i++)
		usleep(1000);
	EXPECT(!access(path, F_OK));
}

static int crowd(const char *dir)
{
	int set = epoll_create1(0);
	struct epoll_event ready;
	pthread_t t[4], reader;

	EXPECT(pthread_create(&reader, NULL, reads_on, NULL) == 0);
	EXPECT(epoll_wait(set, &ready, 1, 0) == 0);
	EXPECT(syscall(SYS_epoll_pwait, set, &ready, 1, 0, NULL, 8) == 0);
	for (intptr_t i = 0; i < 160; i++) {
		EXPECT(pthread_create(&t[i % 4], NULL, lives_briefly, (void *)i) == 0);
		if (i % 4 == 3)
			for (int k = 0; k < 4; k++)
				EXPECT(pthread_join(t[k], NULL) == 0);
		/* The threads' records are then given to later ones. */
		if (i % 64 == 63)
			dump(dir, (int)i / 64 + 1);
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	EXPECT(pthread_join(reader, NULL) == 0);
	HOST_END();
}

static int uring(void)
{
	struct io_uring_params p;
	int fd;

	memset(&p, 0, sizeof(p));
	fd = (int)syscall(SYS_io_uring_setup, 4, &p);
	if (fd < 0)
		return 77;
	EXPECT(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING) !=
	       MAP_FAILED);
	pipes(1);
	HOST_END();
}

int main(int argc, char **argv)
{
	char path[4096];

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "uring"))
		return uring();
	if (!strcmp(argv[1], "crowd"))
		return crowd(argv[2]);
	how_many = argc > 3 ? atoi(argv[3]) : 0;
	snprintf(path, sizeof(path), "%s/file", argv[2]);
	return strcmp(argv[1], "counts") ? delays(path) : counts(path);
}
