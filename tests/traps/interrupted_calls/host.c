/* SPDX-License-Identifier: BSD-3-Clause */
/* A blocking call, and two signals that arrive at once: the profiler's, whose handler restarts
 * calls, and one of the program's, whose handler ends them. To have both pending the thread is
 * stopped.
 *
 *   interrupts sample CALL    SIGPROF, which the program ignores, and SIGALRM
 *   interrupts dump CALL      the dump signal (only where there is a profiler) and SIGALRM
 *   interrupts own CALL       SIGPROF alone, with a handler of the program's
 *   interrupts restart        SIGALRM's handler restarts calls as well: read goes on
 *   interrupts own-restart    and so does SIGPROF's
 * CALL: read, readv2, recv, recvmmsg, sendmmsg, wait, waitv, sem, lock, open, creat, openat2.
 */
#include <linux/openat2.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "host.h"
#include "tasks.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

static volatile sig_atomic_t handled;
static int ready[2], data[2], sockets[2], locked;
static char fifo[64];

static void on_signal(int sig)
{
	(void)sig;
	handled++;
}

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction act = { .sa_flags = flags };

	act.sa_handler = handler;
	EXPECT(sigaction(sig, &act, NULL) == 0);
}

static pid_t child_that_sleeps(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return pid;
}

/* Messages until there is no room for more. */
static long send_all(void)
{
	static char text[4096];
	struct iovec part = { text, sizeof(text) };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } };
	int sent;

	while ((sent = sendmmsg(sockets[0], &message, 1, 0)) == 1)
		;
	return sent;
}

static long call_with_vectors(const char *name)
{
	char c;
	struct iovec part = { &c, 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } };

	if (!strcmp(name, "readv2"))
		return preadv2(data[0], &part, 1, -1, 0);
	if (!strcmp(name, "recvmmsg"))
		return recvmmsg(sockets[0], &message, 1, 0, NULL);
	return send_all();
}

static long call_waitv(void)
{
	uint32_t word = 0;
	const struct {
		uint64_t value, address;
		uint32_t flags, reserved;
	} futex = { .address = (uintptr_t)&word, .flags = 2 /* of 32 bits */ };

	return syscall(SYS_futex_waitv, &futex, 1, 0, NULL, 0);
}

static long call_to_open(const char *name)
{
	const struct open_how how = { .flags = O_RDONLY };

	if (!strcmp(name, "creat"))
		return creat(fifo, 0600);
	if (!strcmp(name, "openat2"))
		return syscall(SYS_openat2, AT_FDCWD, fifo, &how, sizeof(how));
	return open(fifo, O_RDONLY);
}

static long call(const char *name)
{
	struct flock whole = { .l_type = F_WRLCK };
	sem_t none;
	char c;

	if (!strcmp(name, "read"))
		return read(data[0], &c, 1);
	if (!strcmp(name, "recv"))
		return recv(sockets[0], &c, 1, 0);
	if (strstr(name, "mmsg") || !strcmp(name, "readv2"))
		return call_with_vectors(name);
	if (!strcmp(name, "waitv"))
		return call_waitv();
	if (!strcmp(name, "wait"))
		return waitpid(-1, NULL, 0);
	if (!strcmp(name, "sem")) {
		sem_init(&none, 0, 0);
		return sem_wait(&none);
	}
	if (!strcmp(name, "lock"))
		return fcntl(locked, F_SETLKW, &whole);
	return call_to_open(name);
}

/* In a process of its own: the call, and how it ended. */
static int wait_in_call(const char *how, const char *name)
{
	bool ends = !strstr(how, "restart"), own = !strncmp(how, "own", 3);
	pid_t sleeper = !strcmp(name, "wait") ? child_that_sleeps() : 0;
	long result;

	handle(SIGALRM, on_signal, ends ? 0 : SA_RESTART);
	handle(SIGPROF, own ? on_signal : SIG_IGN, ends ? 0 : SA_RESTART);
	EXPECT(write(ready[1], "", 1) == 1);
	result = call(name);
	if (result < 0 && errno == ENOSYS) /* the kernel is older */
		HOST_END();
	EXPECT(ends ? result == -1 && errno == EINTR : result == 1);
	EXPECT(handled == 1);
	if (sleeper)
		kill(sleeper, SIGKILL);
	HOST_END();
}

/* Its main thread; it may have ended. */
static void wait_until(pid_t pid, char state)
{
	const struct timespec ms = { 0, 1000000 };
	char now;

	while ((now = task_state(pid)) && now != state && now != 'Z')
		nanosleep(&ms, NULL);
}

static void signal_it(pid_t pid, const char *how)
{
	kill(pid, SIGSTOP);
	wait_until(pid, 'T');
	if (strcmp(how, "dump"))
		syscall(SYS_tgkill, pid, pid, SIGPROF);
	else if (getenv("CPUPROFILE"))
		kill(pid, SIGUSR2);
	if (strncmp(how, "own", 3))
		kill(pid, SIGALRM);
	kill(pid, SIGCONT);
}

static void prepare(void)
{
	struct flock whole = { .l_type = F_WRLCK };
	char name[] = "/tmp/interrupts.XXXXXX";

	EXPECT(pipe(ready) == 0 && pipe(data) == 0);
	EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	locked = mkstemp(name);
	EXPECT(locked >= 0 && fcntl(locked, F_SETLK, &whole) == 0);
	unlink(name);
	snprintf(fifo, sizeof(fifo), "%s", name);
	EXPECT(mkfifo(fifo, 0600) == 0);
}

int main(int argc, char **argv)
{
	const char *how = argv[1], *name = argc > 2 ? argv[2] : "read";
	int status = -1;
	pid_t pid;
	char c;

	prepare();
	pid = fork();
	if (!pid)
		return wait_in_call(how, name);
	EXPECT(read(ready[0], &c, 1) == 1);
	wait_until(pid, 'S');
	signal_it(pid, how);
	if (strstr(how, "restart")) {
		wait_until(pid, 'S');
		EXPECT(write(data[1], "", 1) == 1);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	unlink(fifo);
	puts("done");
	HOST_END();
}
