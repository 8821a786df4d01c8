/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends in the way that its argument names, after some work that must be in the profile. Linked with
 * nothing, and without a word to the profiler. */
#include <link.h>
#include <sys/resource.h>

#define HOST_HAS_TIMERS
#include "host.h"

#define WORK_SECONDS 0.05

__attribute__((noinline)) static void work_before_the_end(void)
{
	burn_and_tick(WORK_SECONDS);
	__asm__ volatile("");
}

__attribute__((noinline)) static void *work_of_thread(void *arg)
{
	burn_and_tick(WORK_SECONDS);
	return arg;
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(99);
}

static void at_exit(void)
{
	sigset_t mask;

	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	say(sigismember(&mask, SIGTERM) ? "atexit, SIGTERM blocked\n" : "atexit\n");
}

static void at_quick(void)
{
	say("at_quick_exit\n");
}

#define ENDS(how, call)                                                                            \
	static void by_##how(void)                                                                 \
	{                                                                                          \
		call;                                                                              \
	}
ENDS(exit, exit(7))
ENDS(exit_now, _exit(7))
ENDS(c99_exit, _Exit(7))
ENDS(quick_exit, quick_exit(7))
ENDS(exit_group, syscall(SYS_exit_group, 7))
ENDS(only_thread, pthread_exit(NULL))
ENDS(abort, abort())
ENDS(trap, __builtin_trap())

/* ---- ordinary ends ---- */

static void *exit_in_thread(void *arg)
{
	work_of_thread(NULL);
	exit(7);
	return arg;
}

static void by_thread_exit(void)
{
	pthread_t t;

	EXPECT(pthread_create(&t, NULL, exit_in_thread, NULL) == 0);
	for (;;)
		pause();
}

static void by_last_thread(void)
{
	pthread_t t;

	for (int i = 0; i < 3; i++) {
		pthread_create(&t, NULL, work_of_thread, NULL);
		pthread_detach(t);
	}
	pthread_exit(NULL);
}

static void *outlive_main_a_little(void *arg)
{
	usleep(200000); /* main has ended by then, or the test is weaker */
	return arg;
}

static void leave_to_detached(void)
{
	pthread_t t;

	/* For pthread_exit, which can't load it any more. */
	EXPECT(dlopen("libgcc_s.so.1", RTLD_NOW) != NULL);
	EXPECT(pthread_create(&t, NULL, outlive_main_a_little, NULL) == 0);
	pthread_detach(t);
}

/* Nothing can be opened, /proc neither. */
static void by_last_thread_without_files(void)
{
	struct rlimit none = { 0, 0 };

	leave_to_detached();
	EXPECT(setrlimit(RLIMIT_NOFILE, &none) == 0);
	pthread_exit(NULL);
}

/* There is no /proc. A user who may not change the root goes on without. */
static void by_last_thread_in_a_jail(void)
{
	leave_to_detached();
	say(chroot("tests") == 0 && chdir("/") == 0 ? "in a jail\n" : "not in a jail\n");
	pthread_exit(NULL);
}

static int stay_for_ever(void *unused)
{
	(void)unused;
	for (;;)
		syscall(SYS_ppoll, NULL, 0, NULL, NULL);
	return 0;
}

/* libc doesn't know of it, and ends the process without it. */
static void by_last_thread_of_libc(void)
{
	static char stack[16384] __attribute__((aligned(16)));

	leave_to_detached();
	EXPECT(clone(stay_for_ever, stack + sizeof(stack),
		     CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			     CLONE_SYSVSEM,
		     NULL) > 0);
	pthread_exit(NULL);
}

/* /proc/self is main's, and has no memory when that has ended. */
static void read_text(void)
{
	char *(*text)(void) = (char *(*)(void))dlsym(RTLD_DEFAULT, "GetHeapProfile");
	const char *whole = text ? text() : NULL; /* NULL without a heap profile, too */
	const char *mappings = whole ? strstr(whole, "MAPPED_LIBRARIES:") : NULL;

	if (mappings && !strchr(mappings, '/'))
		say("the heap's text has no mappings\n");
}

static void *outlive_main(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	work_of_thread(NULL);
	read_text();
	say("main is gone\n");
	return NULL;
}

static pthread_t main_thread;

static void by_outlived_main(void)
{
	pthread_t t;

	main_thread = pthread_self();
	pthread_create(&t, NULL, outlive_main, &main_thread);
	pthread_exit(NULL);
}

/* ---- signals ---- */

static void by_alarm(void)
{
	ualarm(1000, 0);
	for (;;)
		pause();
}

static void by_pipe(void)
{
	int p[2];

	if (pipe(p) == 0) {
		close(p[0]);
		if (write(p[1], "x", 1) < 0)
			_exit(98);
	}
}

static void by_cpu_limit(void)
{
	struct rlimit l = { 1, RLIM_INFINITY };

	EXPECT(setrlimit(RLIMIT_CPU, &l) == 0);
	burn(5);
}

/* ---- faults ---- */

static volatile int *volatile nowhere = (int *)16;

__attribute__((noinline)) static void fault(void)
{
	*nowhere = 1;
}

static void on_alternate_stack(void)
{
	static char stack[8192];
	stack_t s = { .ss_sp = stack, .ss_size = sizeof(stack) };

	sigaltstack(&s, NULL);
	fault();
}

static void *nothing(void *arg)
{
	return arg;
}

/* malloc takes its lock only where there was ever a second thread. */
static void become_threaded(void)
{
	pthread_t t;

	pthread_create(&t, NULL, nothing, NULL);
	pthread_join(t, NULL);
}

static void *volatile keep, *volatile separator;

/* A free block whose link points nowhere: the search for a block of another size follows it. */
static void in_malloc(void)
{
	void **block;

	become_threaded();
	/* Neighbours on both sides, so that it isn't joined to another free block. */
	for (int i = 0; i < 3; i++)
		separator = malloc(0x600);
	keep = block = malloc(0x600);
	__asm__ volatile("" : "+r"(block));
	separator = malloc(0x600);
	free(keep);
	block[0] = block[1] = (void *)0x123456789000;
	keep = malloc(0x900);
}

static int in_callback(struct dl_phdr_info *info, size_t size, void *arg)
{
	fault();
	return 0;
}

static void in_phdr_callback(void)
{
	dl_iterate_phdr(in_callback, NULL);
}

static int inside;

static int stay(struct dl_phdr_info *info, size_t size, void *arg)
{
	__atomic_store_n(&inside, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
	return 0;
}

static void *stay_in_callback(void *arg)
{
	dl_iterate_phdr(stay, NULL);
	return arg;
}

/* Another thread has the loader's lock, and keeps it. */
static void beside_phdr_callback(void)
{
	pthread_t t;

	pthread_create(&t, NULL, stay_in_callback, NULL);
	while (!__atomic_load_n(&inside, __ATOMIC_ACQUIRE))
		usleep(100);
	fault();
}

static ssize_t write_and_fault(void *cookie, const char *data, size_t n)
{
	fault();
	return (ssize_t)n;
}

static void in_printf(void)
{
	cookie_io_functions_t io = { .write = write_and_fault };
	FILE *f = fopencookie(NULL, "w", io);

	setvbuf(f, NULL, _IONBF, 0);
	flockfile(stdout);
	flockfile(stderr);
	fprintf(f, "%d\n", 1);
}

static void *fault_in_thread(void *arg)
{
	work_of_thread(NULL);
	fault();
	return arg;
}

static void in_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, fault_in_thread, NULL);
	pthread_join(t, NULL);
}

static void by_division(void)
{
	volatile int zero = 0;

	*(volatile int *)&zero = 1 / zero;
}

static int overflow(volatile char *above);
static int (*volatile once_more)(volatile char *above) = overflow;

static int overflow(volatile char *above)
{
	volatile char room[4096];

	room[0] = *above;
	return once_more(room) + room[0];
}

static void by_overflow(void)
{
	volatile char c = 1;

	overflow(&c);
}

/* ---- ends that come from outside: the script kills us ---- */

static void wait_for_end(void)
{
	say("ready\n");
	for (;;)
		pause();
}

static void burn_until_end(void)
{
	say("ready\n");
	for (;;)
		burn(0.1);
}

static const struct {
	const char *name;
	void (*end)(void);
	int sig; /* raised when END is NULL; 0 = return from main */
} ways[] = {
	{ "return", NULL, 0 },
	{ "exit", by_exit, 0 },
	{ "exit-in-thread", by_thread_exit, 0 },
	{ "_exit", by_exit_now, 0 },
	{ "_Exit", by_c99_exit, 0 },
	{ "quick_exit", by_quick_exit, 0 },
	{ "exit_group", by_exit_group, 0 },
	{ "pthread_exit", by_only_thread, 0 },
	{ "pthread_exit-workers", by_last_thread, 0 },
	{ "pthread_exit-joined", by_outlived_main, 0 },
	{ "pthread_exit-no-files", by_last_thread_without_files, 0 },
	{ "pthread_exit-jail", by_last_thread_in_a_jail, 0 },
	{ "pthread_exit-raw-left", by_last_thread_of_libc, 0 },
	{ "abort", by_abort, 0 },
	{ "TERM", NULL, SIGTERM },
	{ "INT", NULL, SIGINT },
	{ "HUP", NULL, SIGHUP },
	{ "QUIT", NULL, SIGQUIT },
	{ "USR1", NULL, SIGUSR1 },
	{ "RT", NULL, 40 },
	{ "SEGV-raised", NULL, SIGSEGV },
	{ "alarm", by_alarm, 0 },
	{ "pipe", by_pipe, 0 },
	{ "cpu-limit", by_cpu_limit, 0 },
	{ "fault", fault, 0 },
	{ "fault-altstack", on_alternate_stack, 0 },
	{ "fault-malloc", in_malloc, 0 },
	{ "fault-phdr", in_phdr_callback, 0 },
	{ "fault-phdr-other", beside_phdr_callback, 0 },
	{ "fault-printf", in_printf, 0 },
	{ "fault-thread", in_thread, 0 },
	{ "division", by_division, 0 },
	{ "trap", by_trap, 0 },
	{ "overflow", by_overflow, 0 },
	{ "wait", wait_for_end, 0 },
	{ "burn", burn_until_end, 0 },
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	atexit(at_exit);
	at_quick_exit(at_quick);
	work_before_the_end();
	say("worked\n");
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(ways[i].name, name) != 0)
			continue;
		if (ways[i].end)
			ways[i].end();
		else if (ways[i].sig)
			raise(ways[i].sig);
		return 3;
	}
	return 97;
}
