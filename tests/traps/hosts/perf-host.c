/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases in which a program and perf events could disturb each other.
 *
 *   perf-host filtered COMMAND...       COMMAND, where perf_event_open kills
 *   perf-host unprivileged COMMAND...   COMMAND, as another user
 *   perf-host own-descriptor            a descriptor of its own sends it SIGPROF
 *   perf-host awaited-descriptor        and it waits for that, by sigtimedwait
 *   perf-host dropped                   its SIGPROF is pending when a thread's first sample comes
 *   perf-host no-descriptors            threads begin and work while no descriptor is left
 *   perf-host copies                    calls that may return less than they were asked for
 *   perf-host deep                      works below so many frames that a walk takes as long as a
 * period
 */
#include <sys/resource.h>
#include <sys/socket.h>
#include <ucontext.h>

#include "host.h"
#include "deny.h"

#define NOBODY 65534
#define DEEP_FRAMES 4000

static int run(char **command)
{
	if (!host_failures)
		execvp(command[0], command);
	return 2;
}

__attribute__((noinline)) static void work(void)
{
	burn(0.2);
	__asm__ volatile("");
}

static int sockets[2];
static volatile sig_atomic_t taken, others;

static void on_prof(int sig, siginfo_t *si, void *context)
{
	char byte;

	if (si->si_fd != sockets[0] || si->si_code != POLL_IN)
		others = others + 1;
	else
		taken = taken + (recv(sockets[0], &byte, 1, MSG_DONTWAIT) == 1);
}

static void own_descriptor(void)
{
	struct sigaction act = { .sa_sigaction = on_prof, .sa_flags = SA_SIGINFO | SA_RESTART };

	EXPECT(sigaction(SIGPROF, &act, NULL) == 0);
	EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	EXPECT(fcntl(sockets[0], F_SETOWN, getpid()) == 0);
	EXPECT(fcntl(sockets[0], F_SETSIG, SIGPROF) == 0);
	EXPECT(fcntl(sockets[0], F_SETFL, O_ASYNC) == 0);
	for (int i = 0; i < 50; i++) {
		EXPECT(write(sockets[1], "x", 1) == 1);
		burn(0.005);
	}
	printf("%d signals, %d others\n", (int)taken, (int)others);
}

/* As servers do that have no handlers. */
static void awaited_descriptor(void)
{
	const struct timespec long_enough = { 20, 0 };
	siginfo_t si = { 0 };
	sigset_t prof;
	pid_t writer;
	char byte;

	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	EXPECT(sigprocmask(SIG_BLOCK, &prof, NULL) == 0);
	EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	EXPECT(fcntl(sockets[0], F_SETOWN, getpid()) == 0);
	EXPECT(fcntl(sockets[0], F_SETSIG, SIGPROF) == 0);
	EXPECT(fcntl(sockets[0], F_SETFL, O_ASYNC) == 0);
	EXPECT(write(sockets[1], "x", 1) == 1);
	burn(0.05);
	EXPECT(sigtimedwait(&prof, &si, &long_enough) == SIGPROF);
	EXPECT(si.si_code == POLL_IN && si.si_fd == sockets[0]);
	EXPECT(read(sockets[0], &byte, 1) == 1);
	writer = fork();
	if (!writer) {
		usleep(20000);
		_exit(write(sockets[1], "x", 1) != 1);
	}
	EXPECT(sigtimedwait(&prof, &si, &long_enough) == SIGPROF);
	EXPECT(si.si_code == POLL_IN && si.si_fd == sockets[0]);
	EXPECT(waitpid(writer, NULL, 0) == writer);
}

static volatile int is_blocked, is_sent;

/* Really blocked, unlike what is done by libc: the kernel drops the sample's signal for the other.
 */
__attribute__((noinline)) static void *works_on(void *arg)
{
	const uint64_t prof = UINT64_C(1) << (SIGPROF - 1);
	const struct timespec moment = { 0, 10000000 };
	sigset_t set;

	EXPECT(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &prof, NULL, sizeof(prof)) == 0);
	is_blocked = 1;
	while (!is_sent)
		usleep(1000);
	burn(0.1);
	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	/* Once in hundreds of times the sample was first, and it is the other that is dropped. */
	sigtimedwait(&set, NULL, &moment);
	EXPECT(syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &prof, NULL, sizeof(prof)) == 0);
	work();
	return NULL;
}

static void dropped(void)
{
	pthread_t t;

	EXPECT(pthread_create(&t, NULL, works_on, NULL) == 0);
	while (!is_blocked)
		usleep(1000);
	EXPECT(pthread_kill(t, SIGPROF) == 0);
	is_sent = 1;
	pthread_join(t, NULL);
}

__attribute__((noinline)) static void *crowded_thread(void *arg)
{
	burn(0.1);
	return NULL;
}

static void no_descriptors(void)
{
	struct rlimit few = { 40, 40 };
	pthread_t t[4];
	int last, n = 0;

	EXPECT(setrlimit(RLIMIT_NOFILE, &few) == 0);
	while ((last = dup(0)) >= 0)
		n++;
	for (int i = 0; i < 4; i++)
		EXPECT(pthread_create(&t[i], NULL, crowded_thread, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("%d descriptors were left, then none\n", n);
	while (n-- > 3)
		close(3 + n);
}

/* Reading ends early when a signal is waiting: so it shows one that comes in the midst of a call.
 */
__attribute__((noinline)) static void copies(void)
{
	enum { SIZE = 1 << 20 };
	char *buffer = malloc(SIZE);
	int fd = open("/dev/zero", O_RDONLY), less = 0;

	for (int i = 0; i < 20000; i++)
		less += read(fd, buffer, SIZE) != SIZE;
	printf("%d of 20000 came back with less\n", less);
	free(buffer);
}

/* Each frame has a page of its own. */
__attribute__((noinline)) static int deep(int frames)
{
	volatile char page[4096];

	page[0] = 0;
	if (!frames)
		burn(0.3);
	return (frames ? deep(frames - 1) : 0) + page[0];
}

static void begin_deep(void)
{
	deep(DEEP_FRAMES);
}

/* On a stack that libc doesn't know, a walk asks the kernel for each page: longer than a period. */
static void deep_on_own_stack(void)
{
	ucontext_t here, there;

	EXPECT(getcontext(&there) == 0);
	there.uc_stack.ss_size = (DEEP_FRAMES + 20) * 5000;
	there.uc_stack.ss_sp = mmap(NULL, there.uc_stack.ss_size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	there.uc_link = &here;
	EXPECT(there.uc_stack.ss_sp != MAP_FAILED);
	makecontext(&there, begin_deep, 0);
	EXPECT(swapcontext(&here, &there) == 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "filtered")) {
		EXPECT(deny_call_as(SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS));
		return run(argv + 2);
	}
	if (!strcmp(how, "unprivileged"))
		return setgid(NOBODY) || setuid(NOBODY) ? 2 : run(argv + 2);
	if (!strcmp(how, "own-descriptor"))
		own_descriptor();
	else if (!strcmp(how, "awaited-descriptor"))
		awaited_descriptor();
	else if (!strcmp(how, "dropped"))
		dropped();
	else if (!strcmp(how, "no-descriptors"))
		no_descriptors();
	else if (!strcmp(how, "copies"))
		copies();
	else if (!strcmp(how, "deep"))
		deep_on_own_stack();
	else
		work();
	HOST_END();
}
