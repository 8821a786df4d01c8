/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that cprof attach has to refuse, or to take with care; each says "up" and its work's
 * pid.
 *
 *   wait         main sleeps; a thread counts its sleeps and polls, each of which must last
 *   filter SPEC...      as wait, with seccomp filters
 *   half-filtered SPEC  as wait, with a filter of the other thread's only
 *   masked       threads that block all signals since they began: one works, one waits, one does
 *                both; each must see its mask as it set it, and wait as long as it should
 *   private      can't be dumped
 *   traced       a child that this process traces, and lets go on
 *   vfork        a child between vfork and exec, for as long as standard input is open
 *   handler      main is in a signal handler, forever
 *   stdio        main reads a line
 *   getchar      main reads a character
 *   large        main reads input, above a stack that it has not used yet
 *   counter      main reads input, without the right to read the processor's counter
 *   landlock     the same, and may open no file
 *   namespace    the same, with another libc in a namespace of its own
 *   ended        main has ended, another thread reads input
 *   callback     main reads in a function that libc's qsort calls
 *   coroutine    main reads on a stack that it has made
 *   bare-coroutine      the same, where the outermost function has no caller
 *   join, sem    a thread does that; main waits for it by pthread_join or sem_wait
 *   locked       main does that with a lock on standard input, for which a thread waits in getchar
 *   epoll        main waits for input in epoll_wait, with a time limit
 *   epolls       the same, again and again, with a limit of 10 ms, which must pass
 *   limited      main waits in recv on a socket with a time limit, again and again: few of these
 *                waits may be stopped, because they begin again with their whole time
 *   mntent       main reads in getmntent, whose buffer is libc's
 *   exec N       executes itself N times
 *
 * A SPEC is LISTED:OTHERS:NUMBER,...: what happens for the system calls of these numbers, and for
 * all others: allow, kill, trap, trace, notify, or errno and its number. Before that, as Docker
 * does it, a clone into new namespaces is refused, and another architecture's calls kill.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mntent.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "clock.h"

static volatile int over;
static int failed;

static void up(int pid)
{
	printf("up %d\n", pid);
	fflush(stdout);
}

/* A wait of NS that ended early, or by an error, was disturbed. */
static void check(const char *what, int result, uint64_t began, uint64_t ns)
{
	if (!result && now_ns() - began >= ns)
		return;
	fprintf(stderr, "%s: %d after %lu of %lu ns: %s\n", what, result,
		(unsigned long)(now_ns() - began), (unsigned long)ns, strerror(errno));
	failed = 1;
}

#define NEW_NAMESPACES 0x7e020000

static unsigned action_of(const char *name)
{
	switch (*name == 't' ? name[3] : *name) {
	case 'k': return SECCOMP_RET_KILL_PROCESS;
	case 'p': return SECCOMP_RET_TRAP;
	case 'c': return SECCOMP_RET_TRACE;
	case 'n': return SECCOMP_RET_USER_NOTIF;
	case 'e': return SECCOMP_RET_ERRNO | (unsigned)atoi(name + 5);
	default: return SECCOMP_RET_ALLOW;
	}
}

static void take_filter(char *spec)
{
	static struct sock_filter code[1200];
	unsigned n = 0, listed = action_of(strtok(spec, ":")),
		 others = action_of(strtok(NULL, ":"));
	struct sock_fprog program = { .filter = code };

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, arch));
	code[n++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, args));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 0, 1);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (char *number = strtok(NULL, ","); number; number = strtok(NULL, ",")) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (unsigned)atoi(number), 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
	program.len = (unsigned short)n;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
}

static void *wait_often(void *spec)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;

	if (spec)
		take_filter(spec);
	while (!over) {
		const struct timespec t = { .tv_nsec = 3000000 };
		uint64_t began = now_ns();

		check("nanosleep", nanosleep(&t, NULL), began, 3000000);
		began = now_ns();
		check("poll", poll(NULL, 0, 3), began, 3000000);
		began = now_ns();
		check("epoll_wait", epoll_wait(epoll, &event, 1, 3), began, 3000000);
	}
	close(epoll);
	return NULL;
}

static void wait_for_input(void)
{
	char c;

	while (read(STDIN_FILENO, &c, 1) > 0)
		;
}

static int do_wait(char *spec)
{
	pthread_t t;

	pthread_create(&t, NULL, wait_often, spec);
	up(getpid());
	wait_for_input();
	over = 1;
	pthread_join(t, NULL);
	puts(failed ? "disturbed" : "undisturbed");
	return failed;
}

static void check_mask(void)
{
	sigset_t mask;

	for (int sig = 1; sig < 32; sig++) {
		bool should = sig != SIGKILL && sig != SIGSTOP;

		if (!pthread_sigmask(SIG_BLOCK, NULL, &mask) && sigismember(&mask, sig) == should)
			continue;
		fprintf(stderr, "signal %d: blocked is not %d\n", sig, should);
		failed = 1;
	}
}

__attribute__((noinline)) static void work_masked(void)
{
	for (uint64_t began = now_ns(); now_ns() - began < 10000000;)
		;
	__asm__ volatile("");
}

static void *work_often(void *unused)
{
	while (!over) {
		work_masked();
		check_mask();
	}
	return unused;
}

static void *work_and_wait(void *unused)
{
	const struct timespec t = { .tv_nsec = 20000000 };

	while (!over) {
		uint64_t began;

		work_masked();
		began = now_ns();
		check("nanosleep", nanosleep(&t, NULL), began, (uint64_t)t.tv_nsec);
	}
	return unused;
}

static int do_masked(void)
{
	void *(*const does[])(void *) = { work_often, wait_often, work_and_wait };
	pthread_t threads[3];
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, does[i], NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	up(getpid());
	wait_for_input();
	over = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	puts(failed ? "disturbed" : "undisturbed");
	return failed;
}

static int do_private(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	up(getpid());
	wait_for_input();
	return 0;
}

static int do_traced(void)
{
	int child = fork(), status;

	if (!child) {
		for (;;)
			pause();
	}
	if (ptrace(PTRACE_SEIZE, child, NULL, NULL))
		return 77;
	up(child);
	wait_for_input();
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return 0;
}

static int do_vfork(void)
{
	int child = vfork();

	if (!child) {
		char c, line[] = "up 0000000000\n";
		int pid = getpid();

		for (int i = 12; i > 2; i--, pid /= 10)
			line[i] = (char)('0' + pid % 10);
		if (write(STDOUT_FILENO, line, sizeof(line) - 1) > 0)
			while (read(STDIN_FILENO, &c, 1) > 0)
				;
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return 0;
}

static void handle(int sig)
{
	char c;

	(void)sig;
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	_exit(0);
}

static int do_handler(void)
{
	signal(SIGUSR1, handle);
	up(getpid());
	raise(SIGUSR1);
	return 1;
}

static int do_stdio(void)
{
	char line[80];

	up(getpid());
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}

static int do_getchar(void)
{
	up(getpid());
	while (getchar() != EOF)
		;
	return 0;
}

static int do_large(void)
{
	volatile char array[1 << 20];

	array[0] = 1;
	array[sizeof(array) - 1] = 1;
	up(getpid());
	wait_for_input();
	return array[0] != array[sizeof(array) - 1];
}

static int do_counter(void)
{
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
		return 77;
	up(getpid());
	wait_for_input();
	return 0;
}

static int do_landlock(void)
{
	const uint64_t handled = 1 << 2; /* LANDLOCK_ACCESS_FS_READ_FILE */
	long rules = syscall(444 /* landlock_create_ruleset */, &handled, sizeof(handled), 0);

	if (rules < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(446 /* landlock_restrict_self */, rules, 0))
		return 77;
	up(getpid());
	wait_for_input();
	return 0;
}

static int do_namespace(void)
{
	if (!dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW))
		return 77;
	up(getpid());
	wait_for_input();
	return 0;
}

static void *read_and_exit(void *unused)
{
	(void)unused;
	up(getpid());
	wait_for_input();
	exit(0);
}

static int do_ended(void)
{
	pthread_t t;

	pthread_create(&t, NULL, read_and_exit, NULL);
	pthread_exit(NULL);
}

static int read_and_compare(const void *a, const void *b)
{
	wait_for_input();
	return *(const char *)a - *(const char *)b;
}

static int do_callback(void)
{
	char two[] = "ba";

	up(getpid());
	qsort(two, 2, 1, read_and_compare);
	return 0;
}

static int do_coroutine(void)
{
	static char stack[1 << 18];
	static ucontext_t outside, inside;

	getcontext(&inside);
	inside.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = sizeof(stack) };
	inside.uc_link = &outside;
	makecontext(&inside, wait_for_input, 0);
	up(getpid());
	return swapcontext(&outside, &inside);
}

#ifdef __x86_64__
static void read_and_leave(void)
{
	wait_for_input();
	_exit(0);
}
#endif

/* The stack is next to main's own data, where mappings grow together. */
static int do_bare_coroutine(void)
{
	const size_t size = 1 << 18;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	up(getpid());
#ifdef __x86_64__
	__asm__ volatile("mov %0, %%rsp; push $0; jmp *%1"
			 :
			 : "r"(stack + size), "r"(read_and_leave)
			 : "memory");
#endif
	return stack != MAP_FAILED;
}

static void *call_back(void *semaphore)
{
	do_callback();
	sem_post(semaphore);
	return NULL;
}

static int do_await(bool joins)
{
	pthread_t t;
	sem_t ended;

	sem_init(&ended, 0, 0);
	pthread_create(&t, NULL, call_back, &ended);
	if (!joins)
		sem_wait(&ended);
	return pthread_join(t, NULL);
}

static void *read_character(void *unused)
{
	getchar();
	return unused;
}

static int do_locked(void)
{
	pthread_t t;

	flockfile(stdin);
	pthread_create(&t, NULL, read_character, NULL);
	do_callback();
	funlockfile(stdin);
	return pthread_join(t, NULL);
}

static int do_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event))
		return 1;
	up(getpid());
	return epoll_wait(epoll, &event, 1, 600000) != 1;
}

static int do_epolls(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC), result;

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event))
		return 1;
	up(getpid());
	do {
		uint64_t began = now_ns();

		result = epoll_wait(epoll, &event, 1, 10);
		check("epoll_wait", result == 1 ? 0 : result, began, result == 1 ? 0 : 10000000);
	} while (!result);
	return failed;
}

static long sleeps_so_far(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_nvcsw;
}

static int do_limited(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	const struct timeval limit = { .tv_usec = 20000 };
	struct timespec tick;
	long before, waits = 0;
	int pair[2];
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    setsockopt(*pair, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    clock_getres(CLOCK_MONOTONIC_COARSE, &tick))
		return 1;
	up(getpid());
	before = sleeps_so_far();
	for (; !poll(&input, 1, 0); waits++) {
		uint64_t began = now_ns();

		/* The kernel counts the limit in ticks, and may be late with counting before. */
		check("recv", recv(*pair, &c, 1, 0) != -1 || errno != EAGAIN, began,
		      20000000 - (uint64_t)tick.tv_nsec);
	}
	/* A stop is one more. */
	if (sleeps_so_far() - before - waits > waits / 10) {
		fprintf(stderr, "%ld waits, %ld sleeps\n", waits, sleeps_so_far() - before);
		failed = 1;
	}
	return failed;
}

static int do_mntent(void)
{
	up(getpid());
	return getmntent(stdin) != NULL;
}

static int do_exec(char **argv)
{
	char left[16];
	uint64_t began = now_ns();

	snprintf(left, sizeof(left), "%d", atoi(argv[2]) - 1);
	up(getpid());
	while (now_ns() - began < 5000000)
		;
	if (atoi(argv[2]) > 1)
		execl("/proc/self/exe", argv[0], argv[1], left, NULL);
	puts("done");
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "wait"))
		return do_wait(NULL);
	if (!strcmp(what, "masked"))
		return do_masked();
	if (!strcmp(what, "half-filtered") && argc > 2)
		return do_wait(argv[2]);
	if (!strcmp(what, "filter")) {
		for (int i = 2; i < argc; i++)
			take_filter(argv[i]);
		return do_wait(NULL);
	}
	if (!strcmp(what, "private"))
		return do_private();
	if (!strcmp(what, "traced"))
		return do_traced();
	if (!strcmp(what, "vfork"))
		return do_vfork();
	if (!strcmp(what, "handler"))
		return do_handler();
	if (!strcmp(what, "getchar"))
		return do_getchar();
	if (!strcmp(what, "large"))
		return do_large();
	if (!strcmp(what, "counter"))
		return do_counter();
	if (!strcmp(what, "landlock"))
		return do_landlock();
	if (!strcmp(what, "namespace"))
		return do_namespace();
	if (!strcmp(what, "ended"))
		return do_ended();
	if (!strcmp(what, "callback"))
		return do_callback();
	if (!strcmp(what, "bare-coroutine"))
		return do_bare_coroutine();
	if (!strcmp(what, "coroutine"))
		return do_coroutine();
	if (!strcmp(what, "join") || !strcmp(what, "sem"))
		return do_await(*what == 'j');
	if (!strcmp(what, "locked"))
		return do_locked();
	if (!strcmp(what, "epoll"))
		return do_epoll();
	if (!strcmp(what, "epolls"))
		return do_epolls();
	if (!strcmp(what, "limited"))
		return do_limited();
	if (!strcmp(what, "mntent"))
		return do_mntent();
	if (!strcmp(what, "stdio"))
		return do_stdio();
	if (!strcmp(what, "exec") && argc > 2)
		return do_exec(argv);
	return 2;
}
