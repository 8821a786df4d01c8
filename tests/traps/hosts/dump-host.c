/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that gets the dump signal, or uses it itself.
 *
 *   dump-host send SIGNAL FILE...        sends it to itself, works until each file is there
 *   dump-host handle SIGNAL              has a handler for it
 *   dump-host wait SIGNAL                takes it by sigwait, blocked
 *   dump-host ignore SIGNAL              ignores it
 *   dump-host default SIGNAL HOW [FILE]  sets its default: signal, sigaction, raw, restored; is
 * ended by it, and not before FILE is there dump-host read SIGNAL FILE           sends it to a
 * thread that waits in read dump-host storm SIGNAL N MODULE FILE in the thick of malloc, dlopen and
 * printf, N times
 */
#include "host.h"

static volatile int got;

static void count(int sig)
{
	got++;
}

/* At most 20 s; a wait for the collector, not a measurement. */
static void work_until(const char *path)
{
	for (int i = 0; i < 2000 && access(path, R_OK) < 0; i++) {
		burn(0.005);
		usleep(5000);
	}
	EXPECT(access(path, R_OK) == 0);
}

static void handle(int sig)
{
	struct sigaction act = { .sa_handler = count }, view;

	EXPECT(sigaction(sig, NULL, &view) == 0 && view.sa_handler == SIG_DFL);
	EXPECT(sigaction(sig, &act, &view) == 0 && view.sa_handler == SIG_DFL);
	EXPECT(sigaction(sig, NULL, &view) == 0 && view.sa_handler == count);
	for (int i = 0; i < 3; i++) {
		raise(sig);
		burn(0.02);
	}
	EXPECT(got == 3);
	/* A second time: nothing more is said. */
	EXPECT(signal(sig, count) == count);
}

/* Another run, where there is a profiler. */
static void restart(void)
{
	int (*start)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "ProfilerStart");
	void (*stop)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "ProfilerStop");

	if (stop)
		stop();
	EXPECT(!start || start(getenv("AGAIN")));
}

static void set_default(int sig, const char *how)
{
	struct sigaction act = { .sa_handler = SIG_DFL };
	/* The kernel's: handler, flags, restorer, mask. */
	unsigned long raw[4] = { 0 };

	if (!strcmp(how, "signal"))
		EXPECT(signal(sig, SIG_DFL) == SIG_DFL);
	else if (!strcmp(how, "sigaction"))
		EXPECT(sigaction(sig, &act, NULL) == 0);
	else if (!strcmp(how, "raw"))
		EXPECT(syscall(SYS_rt_sigaction, sig, raw, NULL, 8) == 0);
	else
		EXPECT(signal(sig, signal(sig, count)) == count);
	EXPECT(sigaction(sig, NULL, &act) == 0 && act.sa_handler == SIG_DFL);
	if (!strcmp(how, "restarted"))
		restart();
}

static void wait_for_it(int sig)
{
	sigset_t set;
	int which;

	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_BLOCK, &set, NULL);
	burn(0.05);
	kill(getpid(), sig);
	EXPECT(sigwait(&set, &which) == 0 && which == sig);
}

static int ends[2], reader_tid;

static void *read_one(void *arg)
{
	char c;

	__atomic_store_n(&reader_tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	EXPECT(read(ends[0], &c, 1) == 1);
	return arg;
}

static int is_reading(void)
{
	char path[64];
	long number = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall",
		 __atomic_load_n(&reader_tid, __ATOMIC_ACQUIRE));
	f = fopen(path, "r");
	if (f && fscanf(f, "%ld", &number) != 1)
		number = -1;
	if (f)
		fclose(f);
	return number == SYS_read;
}

static void interrupt_reader(int sig, const char *file)
{
	pthread_t reader;

	EXPECT(pipe(ends) == 0);
	pthread_create(&reader, NULL, read_one, NULL);
	for (int i = 0; i < 2000 && !is_reading(); i++)
		usleep(1000);
	pthread_kill(reader, sig);
	work_until(file);
	EXPECT(write(ends[1], "x", 1) == 1);
	pthread_join(reader, NULL);
}

static const char *module;
static int stop;

static void *churn(void *arg)
{
	FILE *f = fopen("/dev/null", "w");

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		void *p = malloc(100), *handle = dlopen(module, RTLD_NOW);

		EXPECT(handle);
		fprintf(f, "%p %g\n", p, 1.5);
		if (handle)
			dlclose(handle);
		free(p);
	}
	fclose(f);
	return NULL;
}

static void storm(int sig, int n, const char *file)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	burn(0.1);
	for (int i = 0; i < n; i++) {
		for (int t = 0; t < 3; t++)
			pthread_kill(threads[t], sig);
		burn(0.002);
	}
	work_until(file);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	int sig = atoi(argv[2]);

	module = argc > 4 ? argv[4] : NULL;
	burn(0.05);
	if (!strcmp(how, "send")) {
		for (int i = 3; i < argc; i++) {
			kill(getpid(), sig);
			work_until(argv[i]);
		}
		if (argc == 3)
			kill(getpid(), sig);
	} else if (!strcmp(how, "handle")) {
		handle(sig);
	} else if (!strcmp(how, "default")) {
		set_default(sig, argv[3]);
		puts("set");
		fflush(stdout);
		if (argc > 4)
			work_until(argv[4]);
		burn(0.05);
		kill(getpid(), sig);
	} else if (!strcmp(how, "wait")) {
		wait_for_it(sig);
	} else if (!strcmp(how, "read")) {
		interrupt_reader(sig, argv[3]);
	} else if (!strcmp(how, "ignore")) {
		EXPECT(signal(sig, SIG_IGN) == SIG_DFL);
		raise(sig);
	} else {
		storm(sig, atoi(argv[3]), argv[5]);
	}
	puts("done");
	HOST_END();
}
