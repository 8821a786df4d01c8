/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread is cancelled in a call that waits; and each call, made while a cancellation is pending,
 * ends the thread or doesn't, as libc decides.
 */
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "host.h"

static int in, out, sockets[2], epoll;
static const char *name;
static void (*call)(void);
static int entered, cleaned;
static char b[16];
static struct iovec v = { b, 1 };

static void do_read(void)
{
	(void)!read(in, b, 1);
}
static void do_readv(void)
{
	(void)!readv(in, &v, 1);
}
static void do_write(void)
{
	(void)!write(out, b, 1);
}
static void do_recv(void)
{
	recv(sockets[0], b, 1, 0);
}
static void do_poll(void)
{
	poll(&(struct pollfd){ .fd = in, .events = POLLIN }, 1, -1);
}
static void do_ppoll(void)
{
	ppoll(&(struct pollfd){ .fd = in, .events = POLLIN }, 1, NULL, NULL);
}
static void do_epoll(void)
{
	struct epoll_event e;
	epoll_wait(epoll, &e, 1, -1);
}
static void do_select(void)
{
	fd_set s;
	FD_ZERO(&s);
	FD_SET(in, &s);
	select(in + 1, &s, NULL, NULL, NULL);
}
static void do_open(void)
{
	close(open("/dev/null", O_RDONLY));
}
static void do_fsync(void)
{
	fsync(out);
}
static void do_stat(void)
{
	struct stat s;
	stat("/", &s);
}
static void do_rename(void)
{
	rename("/nonexistent/a", "/nonexistent/b");
}
static void do_unlink(void)
{
	unlink("/nonexistent/a");
}
static void do_dup2(void)
{
	dup2(in, 100);
}
static void do_syscall(void)
{
	syscall(SYS_write, out, b, 1);
}

static const struct {
	const char *name;
	void (*call)(void);
	int waits;
} calls[] = {
	{ "read", do_read, 1 },	    { "readv", do_readv, 1 }, { "recv", do_recv, 1 },
	{ "poll", do_poll, 1 },	    { "ppoll", do_ppoll, 1 }, { "epoll_wait", do_epoll, 1 },
	{ "select", do_select, 1 }, { "write", do_write, 0 }, { "open", do_open, 0 },
	{ "fsync", do_fsync, 0 },   { "stat", do_stat, 0 },   { "rename", do_rename, 0 },
	{ "unlink", do_unlink, 0 }, { "dup2", do_dup2, 0 },   { "syscall", do_syscall, 0 },
};

static void cleanup(void *arg)
{
	(void)arg;
	cleaned++;
}

static void *waits(void *arg)
{
	pthread_cleanup_push(cleanup, NULL);
	__atomic_store_n(&entered, 1, __ATOMIC_SEQ_CST);
	call();
	pthread_cleanup_pop(0);
	return arg;
}

/* The cancellation is pending before the call. */
static void *pending(void *arg)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	while (!__atomic_load_n(&entered, __ATOMIC_SEQ_CST))
		;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	pthread_cleanup_push(cleanup, NULL);
	call();
	pthread_cleanup_pop(0);
	return arg;
}

static void cancel_waiting(void)
{
	pthread_t t;
	void *result;

	entered = cleaned = 0;
	EXPECT(pthread_create(&t, NULL, waits, NULL) == 0);
	while (!__atomic_load_n(&entered, __ATOMIC_SEQ_CST))
		usleep(1000);
	usleep(2000);
	pthread_cancel(t);
	pthread_join(t, &result);
	printf("%s waiting: %s, %d cleaned\n", name,
	       result == PTHREAD_CANCELED ? "cancelled" : "ended", cleaned);
}

static void cancel_pending(void)
{
	pthread_t t;
	void *result;

	entered = cleaned = 0;
	EXPECT(pthread_create(&t, NULL, pending, NULL) == 0);
	pthread_cancel(t);
	__atomic_store_n(&entered, 1, __ATOMIC_SEQ_CST);
	pthread_join(t, &result);
	printf("%s pending: %s, %d cleaned\n", name,
	       result == PTHREAD_CANCELED ? "cancelled" : "ended", cleaned);
}

int main(void)
{
	int p[2];
	char c;

	EXPECT(pipe(p) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	in = p[0];
	out = open("/dev/null", O_WRONLY);
	epoll = epoll_create1(0);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		name = calls[i].name;
		call = calls[i].call;
		if (calls[i].waits)
			cancel_waiting();
		cancel_pending();
	}
	/* All still works. */
	EXPECT(write(p[1], "x", 1) == 1 && read(in, &c, 1) == 1 && c == 'x');
	HOST_END();
}
