/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaches the library to itself and detaches it, again and again, while threads do what a program
 * may do at any time. Each checks its own results.
 *
 *   host TURNS [LIBRARY] PLUGIN    without a library: nothing is attached
 */
#include <sys/wait.h>

#include "attach.h"

static volatile int over;
static unsigned long done[6];

static void count(int who)
{
	__atomic_add_fetch(&done[who], 1, __ATOMIC_RELAXED);
}

static void *allocate(void *arg)
{
	unsigned char *kept[64] = { NULL };
	unsigned random = (unsigned)(uintptr_t)&arg;

	for (unsigned i = 0; !over; i++) {
		size_t size = (random = random * 1103515245u + 12345u) >> 16 & 4095;
		unsigned at = i & 63;

		EXPECT(!kept[at] || kept[at][0] == at);
		if (i & 64) {
			free(kept[at]);
			kept[at] = malloc(size + 1);
		} else {
			kept[at] = realloc(kept[at], size + 1);
		}
		kept[at][0] = (unsigned char)at;
		count(0);
	}
	for (unsigned i = 0; i < 64; i++)
		free(kept[i]);
	return NULL;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static unsigned long turns;

static void *take_turns(void *arg)
{
	unsigned long own = (uintptr_t)arg;

	pthread_mutex_lock(&mutex);
	while (!over) {
		struct timespec soon;

		while (turns % 2 != own && !over) {
			clock_gettime(CLOCK_REALTIME, &soon);
			soon.tv_sec++;
			pthread_cond_timedwait(&turn, &mutex, &soon);
		}
		turns++;
		pthread_cond_broadcast(&turn);
		count(1);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *load(void *plugin)
{
	while (!over) {
		void *handle = dlopen(plugin, RTLD_NOW);
		void *symbol = handle ? dlsym(handle, "plugin_work") : NULL;
		void (*f)(void) = NULL;

		memcpy(&f, &symbol, sizeof(f));
		EXPECT(f != NULL);
		if (f)
			f();
		EXPECT(handle && !dlclose(handle));
		count(2);
	}
	return NULL;
}

static void *fork_children(void *arg)
{
	while (!over) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			void *p = malloc(100);

			free(p);
			_exit(p ? 7 : 1);
		}
		EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		       WEXITSTATUS(status) == 7);
		count(3);
	}
	return arg;
}

static void *nothing(void *arg)
{
	free(malloc(10));
	return arg;
}

static void *make_threads(void *arg)
{
	while (!over) {
		pthread_t t;
		void *back;

		EXPECT(!pthread_create(&t, NULL, nothing, arg) && !pthread_join(t, &back) &&
		       back == arg);
		count(4);
	}
	return arg;
}

static void on_signal(int sig)
{
	(void)sig;
	count(5);
}

static void *send_signals(void *arg)
{
	while (!over) {
		EXPECT(!pthread_kill(*(pthread_t *)arg, SIGUSR1));
		usleep(500);
	}
	return NULL;
}

static const char modes[] = "CPUPROFILE=/tmp/cpu\nHEAPPROFILE=/tmp/heap\nLOCKPROFILE=/tmp/lock\n"
			    "IOPROFILE=/tmp/io\nCPROF_HEAP_INTERVAL=1\nnofile=1\n";

static void turn_once(int i, char *library)
{
	attach(library);
	if (i % 3) {
		int result = ask(CP_CONTROL_START, modes);

		if (result)
			printf("start: %d\n", result);
	}
	usleep((useconds_t)(i % 7) * 1000);
	detach();
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	int n = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t threads[8];

	sigaction(SIGUSR1, &act, NULL);
	EXPECT(!pthread_create(&threads[0], NULL, allocate, NULL));
	EXPECT(!pthread_create(&threads[1], NULL, allocate, NULL));
	EXPECT(!pthread_create(&threads[2], NULL, take_turns, (void *)0));
	EXPECT(!pthread_create(&threads[3], NULL, take_turns, (void *)1));
	EXPECT(!pthread_create(&threads[4], NULL, load, argv[argc - 1]));
	EXPECT(!pthread_create(&threads[5], NULL, fork_children, NULL));
	EXPECT(!pthread_create(&threads[6], NULL, make_threads, NULL));
	EXPECT(!pthread_create(&threads[7], NULL, send_signals, &threads[0]));
	for (int i = 0; i < n; i++)
		if (argc > 3)
			turn_once(i, argv[2]);
		else
			usleep(1000);
	over = 1;
	for (int i = 0; i < 8; i++)
		pthread_join(threads[7 - i], NULL);
	for (int i = 0; i < 6; i++)
		EXPECT(done[i] > 0);
	puts("the storm is over");
	HOST_END();
}
