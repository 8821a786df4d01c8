/* SPDX-License-Identifier: BSD-3-Clause */
/* See model.h. */
#include "core/model.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t seen;
static uintptr_t page_size;

static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	void *page = (void *)((uintptr_t)info->si_addr & -page_size);

	(void)context;
	seen = 1;
	/* If this fails, the instruction faults again, which ends the process. */
	if (info->si_code != BUS_ADRERR ||
	    mmap(page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) == MAP_FAILED)
		signal(sig, SIG_DFL);
}

void ct_shrunk_catch(void)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO };

	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	action.sa_sigaction = on_bus_error;
	sigaction(SIGBUS, &action, NULL);
}

bool ct_shrunk_seen(void)
{
	return seen;
}
