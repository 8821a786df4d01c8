/* SPDX-License-Identifier: BSD-3-Clause */
/* The program that tests/stress/trials.sh puts under stress. Usage: trial-host SECONDS KIND
 *
 * SIGUSR1 ends it before its time.
 *
 * Two threads work, in rounds that must all have the same result, on blocks of memory and under
 * a lock; main does what KIND says until the time is over.
 *
 * plain: the same as they.
 * churn: threads that live for one round each, 16 at a time.
 * forks: children and grandchildren that work a round each, at most 18 at a time.
 * descriptors: opens all that it may, which must always be the same number.
 * signals: waits for SIGPROF, and answers each by a byte to descriptor 3.
 * exec: no threads; a round, then this program again, for ever so long.
 *
 * The first line says how it went and is the same in every run; the second has seconds of CPU
 * and of wall time, the peak of mapped memory, and the seconds that all threads lived together.
 */
#include <sys/resource.h>

#include "system.h"

#define BLOCKS 64
#define CHURNED 16
#define CHILDREN 6
#define GRANDCHILDREN 2
#define EXPECTED UINT64_C(0xa89c2b4617edd625)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t rounds, wrong;
static volatile double deadline;
static double lives; /* seconds, of threads that have ended */
static volatile sig_atomic_t signals;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t mix(uint64_t h, const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

__attribute__((noinline)) uint64_t work_round(void);

/* The same at any time; 0: no memory. */
__attribute__((noinline)) uint64_t work_round(void)
{
	unsigned char *block[BLOCKS];
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (unsigned i = 0; i < BLOCKS; i++) {
		block[i] = malloc(100 + i * 37);
		if (!block[i])
			abort();
		memset(block[i], (int)i, 100 + i * 37);
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		block[i] = realloc(block[i], 200 + i * 50);
		if (!block[i])
			abort();
		h = mix(h, block[i], 100 + i * 37);
		free(block[i]);
	}
	return h;
}

static void a_round(void)
{
	uint64_t h = work_round();

	pthread_mutex_lock(&lock);
	rounds++;
	wrong += h != EXPECTED;
	pthread_mutex_unlock(&lock);
}

static void lived_since(double began)
{
	double ended = now();

	pthread_mutex_lock(&lock);
	lives += ended - began;
	pthread_mutex_unlock(&lock);
}

static void *worker(void *arg)
{
	double began = now();

	while (now() < deadline)
		a_round();
	lived_since(began);
	return arg;
}

static void *short_lived(void *arg)
{
	double began = now();

	a_round();
	lived_since(began);
	return arg;
}

static void churn(void)
{
	pthread_t t[CHURNED];

	for (int i = 0; i < CHURNED; i++)
		if (pthread_create(&t[i], NULL, short_lived, NULL))
			abort();
	for (int i = 0; i < CHURNED; i++)
		pthread_join(t[i], NULL);
}

static int reap(int n)
{
	int bad = 0, status;

	for (int i = 0; i < n; i++)
		if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
			bad++;
	return bad;
}

static void child(void)
{
	int bad = 0;

	for (int i = 0; i < GRANDCHILDREN; i++) {
		pid_t pid = fork();

		if (!pid)
			exit(work_round() == EXPECTED ? 7 : 8);
		bad += pid < 0;
	}
	bad += work_round() != EXPECTED;
	exit(reap(GRANDCHILDREN) + bad ? 8 : 7);
}

static void forks(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (!pid)
			child();
		if (pid < 0)
			abort();
	}
	wrong += (uint64_t)reap(CHILDREN);
}

static void descriptors(void)
{
	static unsigned first;
	unsigned n = 0;
	int fd[256];

	while (n < 256 && (fd[n] = open("/dev/null", O_RDONLY)) >= 0)
		n++;
	wrong += errno != EMFILE || (first && n != first);
	first = n;
	while (n)
		close(fd[--n]);
	usleep(1000);
}

static void on_signal(int signo)
{
	int saved = errno;

	(void)signo;
	signals++;
	if (write(3, "x", 1) != 1)
		abort();
	errno = saved;
}

static void on_end(int signo)
{
	(void)signo;
	deadline = 0;
}

static void main_part(const char *kind)
{
	if (!strcmp(kind, "churn"))
		churn();
	else if (!strcmp(kind, "forks"))
		forks();
	else if (!strcmp(kind, "descriptors"))
		descriptors();
	else if (!strcmp(kind, "signals"))
		usleep(20000);
	else
		a_round();
}

static long peak_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = 0;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmPeak: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

static int finish(double began)
{
	struct rusage u;
	double lived = now() - began;

	getrusage(RUSAGE_SELF, &u);
	printf("%s\n", wrong ? "WRONG" : "all rounds agree");
	printf("used %.3f %.3f %ld %.3f\n",
	       (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
	       lived, peak_kb(), lives + lived);
	return wrong ? 1 : 0;
}

/* Again and again, until the monotonic clock says DEADLINE, which goes on as an argument. */
static int execs(char **argv)
{
	char end[32], count[32];
	char *next[] = { argv[0], end, (char *)"exec", count, NULL };
	unsigned long n = argv[3] ? strtoul(argv[3], NULL, 10) : 0;

	deadline = argv[3] ? strtod(argv[1], NULL) : now() + strtod(argv[1], NULL);
	a_round();
	if (wrong || now() >= deadline) {
		fprintf(stdout, "%s\nused %lu 0\n", wrong ? "WRONG" : "all rounds agree", n);
		return wrong != 0;
	}
	snprintf(end, sizeof(end), "%.6f", deadline);
	snprintf(count, sizeof(count), "%lu", n + 1);
	execv("/proc/self/exe", next);
	return 9;
}

int main(int argc, char **argv)
{
	double began = now();
	pthread_t t[2];

	if (argc < 3)
		return 2;
	if (!strcmp(argv[2], "exec"))
		return execs(argv);
	if (!strcmp(argv[2], "signals"))
		signal(SIGPROF, on_signal);
	deadline = began + strtod(argv[1], NULL);
	signal(SIGUSR1, on_end);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, worker, NULL))
			return 3;
	while (now() < deadline)
		main_part(argv[2]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return finish(began);
}
