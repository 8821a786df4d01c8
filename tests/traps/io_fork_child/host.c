/* SPDX-License-Identifier: BSD-3-Clause */
/* Forks while a thread waits in a read. The child makes its own calls; both go on.
 */
#include "host.h"

static int p[2], null;

static void *reads(void *arg)
{
	char c;

	EXPECT(read(p[0], &c, 1) == 1);
	return arg;
}

static void writes(int n)
{
	for (int i = 0; i < n; i++)
		EXPECT(write(null, "abc", 3) == 3);
}

int main(void)
{
	pthread_t t;
	pid_t child;
	int status;

	null = open("/dev/null", O_WRONLY);
	EXPECT(pipe(p) == 0);
	EXPECT(pthread_create(&t, NULL, reads, NULL) == 0);
	writes(500);
	child = fork();
	if (!child) {
		writes(70);
		exit(host_failures);
	}
	EXPECT(waitpid(child, &status, 0) == child && status == 0);
	writes(500);
	EXPECT(write(p[1], "x", 1) == 1);
	pthread_join(t, NULL);
	HOST_END();
}
