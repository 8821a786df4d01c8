/* SPDX-License-Identifier: BSD-3-Clause */
/* The program that walk.sh profiles while the profiler's calls fail. It does everything that makes
 * the profiler do something, once, in a fixed order, with output and exit status that depend on
 * nothing else. It execs `host again`; `host short` only works and ends, `host api DIR` starts and
 * stops profiles itself, if the library is there, and leaves their results in DIR/result.
 */
#include <sys/stat.h>

#include "system.h"
#include "cprof.h"

#define BLOCKS 64
#define BLOCK_SIZE 24000
#define ROUNDS 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static volatile uint64_t sum;
static void *kept[BLOCKS];

static void spend(double seconds)
{
	struct timespec t;
	double end = 0, now;

	do {
		for (int i = 0; i < 20000; i++)
			sum = sum + (uint64_t)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
		end = end > 0 ? end : now + seconds;
	} while (now < end);
}

/* After a function's last call: the call is then no tail call, and the function stays on the stack.
 */
#define STAY() __asm__ volatile("")

__attribute__((noinline)) static void before(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		kept[i] = malloc(BLOCK_SIZE);
		if (!kept[i])
			printf("no memory\n");
		else
			memset(kept[i], i, BLOCK_SIZE);
	}
	spend(0.06);
	STAY();
}

__attribute__((noinline)) static void after(void)
{
	for (int i = 0; i < BLOCKS; i += 2)
		free(kept[i]);
	spend(0.02);
	STAY();
}

static void *worker(void *arg)
{
	pthread_barrier_wait(&both);
	for (int i = 0; i < ROUNDS; i++) {
		void *p = malloc(BLOCK_SIZE);

		pthread_mutex_lock(&lock);
		usleep(500);
		pthread_mutex_unlock(&lock);
		free(p);
	}
	spend(0.01);
	return arg;
}

/* Somebody catches SIG: only then may it be sent. */
static int is_caught(int sig)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long caught = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "SigCgt: %llx", &caught) == 1)
			break;
	if (f)
		fclose(f);
	return (int)(caught >> (sig - 1) & 1);
}

static void work_in_threads(void)
{
	static int results[2];
	pthread_t threads[2];
	int ended = 0;

	pthread_barrier_init(&both, NULL, 2);
	for (size_t i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, worker, &results[i])) {
			printf("no thread\n");
			exit(9);
		}
	for (size_t i = 0; i < 2; i++) {
		void *result = NULL;

		pthread_join(threads[i], &result);
		ended += result == &results[i];
	}
	printf("threads: %d\n", ended);
}

static void wait_for(pid_t pid, const char *what)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		printf("%s: none\n", what);
	else
		printf("%s: %d\n", what, status);
	fflush(stdout);
}

static void make_processes(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		spend(0.02);
		exit(5);
	}
	wait_for(pid, "forked");
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "host", "again", (char *)NULL);
		_exit(8);
	}
	wait_for(pid, "executed");
}

struct pipe {
	int ends[2];
	const char *path;
	FILE *copy;
};

/* All that comes after what filled it. */
static void *read_pipe(void *arg)
{
	struct pipe *p = arg;
	char bytes[4096];
	long got, filler = sizeof(bytes);

	usleep(200000);
	while ((got = read(p->ends[0], bytes, sizeof(bytes))) > 0) {
		long skip = got < filler ? got : filler;

		filler -= skip;
		fwrite(bytes + skip, 1, (size_t)(got - skip), p->copy);
	}
	return NULL;
}

/* Dumps into a pipe that is full until it is read, so that a write returns EAGAIN and has to wait.
 * The received bytes are kept as a profile if the call reports success. */
static void dump_into_a_pipe(const char *directory)
{
	int (*dump)(int) = NULL, err = 1;
	char path[4096], filler[4096] = "";
	struct pipe p = { .path = path };
	pthread_t reader;

	*(void **)&dump = dlsym(RTLD_DEFAULT, "cprof_dump_fd");
	snprintf(path, sizeof(path), "%s/cpu.piped.pb", directory);
	umask(077);
	p.copy = fopen(path, "we");
	if (!p.copy || pipe2(p.ends, O_CLOEXEC) || fcntl(p.ends[1], F_SETPIPE_SZ, 4096) != 4096 ||
	    write(p.ends[1], filler, sizeof(filler)) != sizeof(filler) ||
	    fcntl(p.ends[1], F_SETFL, O_NONBLOCK) || pthread_create(&reader, NULL, read_pipe, &p)) {
		printf("no pipe\n");
		exit(9);
	}
	if (dump)
		err = dump(p.ends[1]);
	close(p.ends[1]);
	pthread_join(reader, NULL);
	close(p.ends[0]);
	fclose(p.copy);
	if (err)
		unlink(path);
}

static void leave(const char *directory, int started, int stopped)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/result", directory);
	f = fopen(path, "we");
	if (!f)
		return;
	fprintf(f, "%d %d\n", started, stopped);
	fclose(f);
}

static int by_interface(const char *directory)
{
	int (*start)(const struct cprof_options *) = NULL;
	int (*stop)(void) = NULL;
	struct cprof_options o = CPROF_OPTIONS_INIT;
	char paths[4][4096];
	const char *const names[] = { "cpu", "wall", "heap", "lock" };
	int started = 1, stopped = 1;

	*(void **)&start = dlsym(RTLD_DEFAULT, "cprof_start");
	*(void **)&stop = dlsym(RTLD_DEFAULT, "cprof_stop");
	for (size_t i = 0; i < 4; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%s.pb", directory, names[i]);
	o.cpu_path = paths[0];
	o.wall_path = paths[1];
	o.heap_path = paths[2];
	o.lock_path = paths[3];
	o.frequency = 1000;
	o.wall_frequency = 200;
	o.heap_interval = 65536;
	o.lock_threshold_ns = -1;
	if (start)
		started = start(&o);
	before();
	work_in_threads();
	dump_into_a_pipe(directory);
	if (stop)
		stopped = stop();
	after();
	leave(directory, started, stopped);
	printf("done\n");
	return 7;
}

int main(int argc, char **argv)
{
	int status;

	if (argc > 2) {
		status = by_interface(argv[2]);
		STAY();
		return status;
	}
	before();
	if (argc > 1 && !strcmp(argv[1], "again")) {
		printf("again\n");
		return 6;
	}
	if (argc > 1) {
		after();
		printf("short\n");
		return 4;
	}
	if (is_caught(SIGUSR2))
		raise(SIGUSR2);
	work_in_threads();
	make_processes();
	after();
	printf("done\n");
	return 7;
}
