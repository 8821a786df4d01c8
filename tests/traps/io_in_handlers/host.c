/* SPDX-License-Identifier: BSD-3-Clause */
/* A timer's handler writes, while the interrupted code reads, writes and allocates; some handlers
 * leave by siglongjmp. Prints how many calls were made.
 */
#include <setjmp.h>
#include <sys/time.h>

#include "host.h"

static int null, p[2];
static volatile sig_atomic_t handled, jumps_on;
static sigjmp_buf back;

static void handler(int sig)
{
	int saved = errno;

	(void)sig;
	if (write(null, "abc", 3) != 3)
		abort();
	handled++;
	errno = saved;
	if (jumps_on && handled % 5 == 0)
		siglongjmp(back, 1);
}

static void every(long us)
{
	struct itimerval t = { { 0, us }, { 0, us } };

	setitimer(ITIMER_REAL, &t, NULL);
}

int main(void)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_RESTART };
	volatile int jumped = 0, wrong = 0;
	char c[4];

	null = open("/dev/null", O_WRONLY);
	EXPECT(pipe(p) == 0);
	sigaction(SIGALRM, &a, NULL);
	every(50);
	for (int k = 0; k < 20000; k++) {
		char *block = malloc(100 + (size_t)k % 1000);

		if (write(p[1], "x", 1) != 1 || read(p[0], c, 4) != 1)
			wrong++;
		free(block);
	}
	every(0);
	/* What is left by a jump may or may not have been counted. */
	fprintf(stderr, "writes %d\n", 20000 + handled);
	jumps_on = 1;
	every(50);
	if (sigsetjmp(back, 1))
		jumped++;
	while (jumped < 50)
		EXPECT(write(null, "x", 1) == 1);
	every(0);
	EXPECT(wrong == 0 && handled > 50);
	HOST_END();
}
