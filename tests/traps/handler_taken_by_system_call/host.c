/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes SIGPROF's handler by a system call of its own, past libc, as some language runtimes do, and
 * works until the file argv[1] is there. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "raw-sigaction.h"

static volatile unsigned long sink;

static void foreign(int sig)
{
	sink += (unsigned long)sig;
}

int main(int argc, char **argv)
{
	if (argc != 2 || raw_sigaction(SIGPROF, foreign) < 0)
		return 2;
	while (access(argv[1], F_OK) < 0)
		for (int i = 0; i < 100000; i++)
			sink += (unsigned long)i;
	puts("done");
	return 5;
}
