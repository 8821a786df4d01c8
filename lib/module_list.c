/* The loader's list, and forks; see module_list.h. */
#include "module_list.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "real.h"
#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"
#include "sigsafe/thread.h"

#define LONGEST_NS UINT64_C(1000000000)
#define LOOK_NS 20000 /* how often it is looked whether the wait is over */

static uint32_t inside; /* threads in the list */
static uint32_t forks;	/* going on */

static bool wait_while(const uint32_t *word)
{
	uint64_t since = cp_sys_clock_ns(CLOCK_MONOTONIC);
	const struct timespec moment = { 0, LOOK_NS };

	while (cp_load_seqcst(word)) {
		if (cp_sys_clock_ns(CLOCK_MONOTONIC) - since > LONGEST_NS)
			return false;
		cp_sys2(SYS_nanosleep, &moment, NULL);
	}
	return true;
}

/* Both sides say that they come before they look for the other: one of them sees it. Not for one's
 * own fork, whose handlers may do anything. */
static void enter(void)
{
	bool waits = !cp_self.forks;

	cp_add_seqcst(&inside, 1);
	while (waits && cp_load_seqcst(&forks)) {
		cp_add_seqcst(&inside, -1);
		waits = wait_while(&forks);
		cp_add_seqcst(&inside, 1);
	}
}

static int walk(int (*iterate)(cp_module_visit *, void *), cp_module_visit *visit, void *arg)
{
	int result;

	enter();
	result = iterate(visit, arg);
	cp_add_seqcst(&inside, -1);
	return result;
}

int cp_module_list(cp_module_visit *visit, void *arg)
{
	return walk(dl_iterate_phdr, visit, arg);
}

int cp_module_list_of_libc(cp_module_visit *visit, void *arg)
{
	return walk(CP_REAL(dl_iterate_phdr), visit, arg);
}

void cp_module_list_fork_begin(void)
{
	cp_self.forks = 1;
	cp_add_seqcst(&forks, 1);
	wait_while(&inside);
}

void cp_module_list_fork_end(void)
{
	cp_self.forks = 0;
	cp_add_seqcst(&forks, -1);
}

void cp_module_list_fork_child(void)
{
	cp_self.forks = 0;
	cp_store_relaxed(&inside, 0);
	cp_store_relaxed(&forks, 0);
}
