/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGPROF that comes when nobody waits for it any more. With the profiler (its functions are found
 * at run time), it starts and stops over and over while threads work; then late signals come, as a
 * timer of ours sends them; then the program's own, which has its default action.
 *
 *   after-stop PATH [die | process | pending | once]
 *
 * process: without what comes late from a timer of a thread. pending: ITIMER_PROF's has come while
 * it can't be delivered, and is when we have stopped; once: after that the program sets that timer
 * itself, whose signal has its default action, too.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "cprof.h"
#include "host.h"

static int stop;

static void *work(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		burn(0.001);
	return NULL;
}

static void late_signal(unsigned long value)
{
	siginfo_t si;

	memset(&si, 0, sizeof(si));
	si.si_signo = SIGPROF;
	si.si_code = SI_TIMER;
	si.si_value.sival_ptr = (void *)value;
	syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGPROF, &si);
}

/* Past what the profiler makes of a mask. */
static void block_really(int how)
{
	unsigned long prof = 1ul << (SIGPROF - 1);

	EXPECT(syscall(SYS_rt_sigprocmask, how, &prof, NULL, sizeof(prof)) == 0);
}

static void have_one_pending(int (*start)(const struct cprof_options *), int (*end)(void),
			     const struct cprof_options *o)
{
	sigset_t pending;

	EXPECT(start(o) == 0);
	block_really(SIG_BLOCK);
	do {
		burn(0.005);
		sigemptyset(&pending);
		syscall(SYS_rt_sigpending, &pending, sizeof(unsigned long));
	} while (!sigismember(&pending, SIGPROF));
	EXPECT(end() == 0);
	block_really(SIG_UNBLOCK);
}

int main(int argc, char **argv)
{
	struct itimerval soon = { .it_value = { 0, 1000 } };
	int (*start)(const struct cprof_options *), (*end)(void);
	struct cprof_options o = CPROF_OPTIONS_INIT;
	pthread_t threads[3];

	*(void **)&start = dlsym(RTLD_DEFAULT, "cprof_start");
	*(void **)&end = dlsym(RTLD_DEFAULT, "cprof_stop");
	o.cpu_path = argv[1];
	o.frequency = 10000;
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; start && i < 25; i++) {
		EXPECT(start(&o) == 0);
		burn(0.005);
		EXPECT(end() == 0);
	}
	burn(0.05);
	if (start && (argc < 3 || !strcmp(argv[2], "die"))) {
		late_signal(0x6370726600000000);
		signal(SIGPROF, SIG_DFL);
		late_signal(0x6370726600000001);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	if (start && argc > 2 && (!strcmp(argv[2], "pending") || !strcmp(argv[2], "once")))
		have_one_pending(start, end, &o);
	puts("alive");
	fflush(stdout);
	if (argc > 2 && !strcmp(argv[2], "die"))
		raise(SIGPROF);
	if (argc > 2 && !strcmp(argv[2], "once") && setitimer(ITIMER_PROF, &soon, NULL) == 0)
		burn(1);
	HOST_END();
}
