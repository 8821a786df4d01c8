/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that end by a system call of their own: libc runs nothing at their ends, nor at the
 * process's, whose status is that of the last one (Linux < 5.17: main's). Argument: who ends how.
 *
 * | way             |                                                                    |
 * |-----------------|--------------------------------------------------------------------|
 * | alone           | the only thread, by libc's syscall()                               |
 * | alone-hidden    | the same, by an instruction of its own                             |
 * | jailed          | the same, with status 0, where there is no /proc                   |
 * | after-threads   | the same, when another thread has come and gone                    |
 * | main-first      | main by syscall(); another works on and returns                    |
 * | main-hidden     | the same, by an instruction                                        |
 * | all             | main and another, both by syscall(), at the same time              |
 * | worker          | another thread than main, which goes on                            |
 * | copy            | a process made by a raw clone that shares memory; main goes on     |
 * | cloned          | a thread made by a raw clone, with main's TLS; main goes on        |
 * | forked          | a child                                                            |
 * | unmapped        | none: the thread that made a child ends there, and all that libc   |
 * |                 | had of it is given back, with the word that the kernel cleared     |
 */
#include "host.h"

static pthread_barrier_t together;

__attribute__((noinline)) static void work_before_the_end(void)
{
	burn(0.25); /* a busy machine may have no tick in less */
	__asm__ volatile("");
}

__attribute__((noinline)) static void work_after_main(void)
{
	burn(0.3);
	__asm__ volatile("");
}

static void end_hidden(long code)
{
#if defined(__x86_64__)
	__asm__ volatile("syscall" : : "a"((long)SYS_exit), "D"(code) : "rcx", "r11", "memory");
#else
	register long x8 __asm__("x8") = SYS_exit;
	register long x0 __asm__("x0") = code;

	__asm__ volatile("svc 0" : : "r"(x8), "r"(x0) : "memory");
#endif
	__builtin_unreachable();
}

static void *returns(void *arg)
{
	work_before_the_end();
	return arg;
}

static int main_is_there(void)
{
	char text[512] = "";
	FILE *f = fopen("/proc/self/stat", "r");

	EXPECT(f && fgets(text, sizeof(text), f));
	fclose(f);
	return strstr(text, ") Z ") == NULL;
}

static void *works_on(void *arg)
{
	pthread_barrier_wait(&together);
	while (main_is_there())
		usleep(1000);
	work_after_main();
	return arg;
}

static void *ends_raw(void *arg)
{
	pthread_barrier_wait(&together);
	work_after_main();
	syscall(SYS_exit, 7);
	return arg;
}

static void begin(void *(*start)(void *))
{
	pthread_t t;

	pthread_barrier_init(&together, NULL, 2);
	EXPECT(pthread_create(&t, NULL, start, NULL) == 0);
	pthread_detach(t);
}

static int copy(void *arg)
{
	(void)arg;
	syscall(SYS_exit, 4);
	return 1;
}

static void run_copy(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int pid = clone(copy, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL), status = 0;

	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 4);
}

static int cloned(void *arg)
{
	syscall(SYS_exit, (long)(arg != NULL));
	return 1;
}

static void run_cloned(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	static volatile pid_t there = 1;

	EXPECT(clone(cloned, stack + sizeof(stack),
		     CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			     CLONE_SYSVSEM | CLONE_CHILD_CLEARTID,
		     NULL, NULL, NULL, &there) > 0);
	while (there)
		usleep(1000);
	work_after_main();
}

static void run_forked(void)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		work_after_main();
		syscall(SYS_exit, 6);
	}
	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 6);
}

static void *joins(void *forker)
{
	EXPECT(pthread_join(*(pthread_t *)forker, NULL) == 0);
	work_after_main();
	return NULL;
}

static void *forks(void *arg)
{
	static pthread_t self;
	pthread_t t;

	self = pthread_self();
	*(pid_t *)arg = fork();
	if (*(pid_t *)arg == 0) {
		EXPECT(pthread_create(&t, NULL, joins, &self) == 0);
		end_hidden(0);
	}
	return NULL;
}

static void run_unmapped(void)
{
	/* More than libc keeps of stacks that nobody uses. */
	const size_t stack = (size_t)64 << 20;
	pthread_attr_t attr;
	static pid_t pid;
	int status = 0;
	pthread_t t;

	pthread_attr_init(&attr);
	EXPECT(pthread_attr_setstacksize(&attr, stack) == 0);
	EXPECT(pthread_create(&t, &attr, forks, &pid) == 0);
	EXPECT(pthread_join(t, NULL) == 0);
	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

/* atexit handlers run only for threads that leave through libc. */
static void handler(void)
{
	puts("handler");
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	pthread_t t;

	setvbuf(stdout, NULL, _IOLBF, 0);
	atexit(handler);
	if (!strcmp(way, "after-threads")) {
		EXPECT(pthread_create(&t, NULL, returns, NULL) == 0);
		pthread_join(t, NULL);
	}
	if (!strncmp(way, "main", 4) || !strcmp(way, "worker") || !strcmp(way, "all")) {
		begin(!strncmp(way, "main", 4) ? works_on : ends_raw);
		pthread_barrier_wait(&together);
	}
	if (!strcmp(way, "worker") || !strcmp(way, "all"))
		work_after_main();
	work_before_the_end();
	if (!strcmp(way, "copy"))
		run_copy();
	if (!strcmp(way, "cloned"))
		run_cloned();
	if (!strcmp(way, "forked"))
		run_forked();
	if (!strcmp(way, "unmapped"))
		run_unmapped();
	if (strstr(way, "hidden"))
		end_hidden(7);
	if (!strcmp(way, "jailed")) {
		EXPECT(chroot("tests") == 0 || geteuid());
		end_hidden(0);
	}
	if (!strstr("worker copy cloned forked unmapped", way))
		syscall(SYS_exit, 7);
	HOST_END();
}
