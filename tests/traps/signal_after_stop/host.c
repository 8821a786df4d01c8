/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGPROF that comes when nobody waits for it any more. With the profiler (its functions are found
 * at run time), it starts and stops over and over while threads work; then late signals come, as a
 * timer of ours sends them; then the program's own, which has its default action.
 *
 *   after-stop PATH [die]
 */
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

int main(int argc, char **argv)
{
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
	if (start) {
		late_signal(0x6370726600000000);
		signal(SIGPROF, SIG_DFL);
		late_signal(0x6370726600000001);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	puts("alive");
	fflush(stdout);
	if (argc > 2 && !strcmp(argv[2], "die"))
		raise(SIGPROF);
	HOST_END();
}
