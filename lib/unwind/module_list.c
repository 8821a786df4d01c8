/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks the loader's list of modules, safely across forks; see unwind.h. */
#include "unwind/unwind.h"

#include "base/sys.h"

#define LONGEST_NS UINT64_C(1000000000)
#define LOOK_NS 20000 /* interval at which a waiting thread checks */

static uint32_t inside; /* number of threads that are walking the list */
static uint32_t forks;	/* number of forks in progress */

static bool wait_while(const uint32_t *word)
{
	const struct timespec moment = { 0, LOOK_NS };
	uint64_t since;

	/* If there is no need to wait, make no system call, because a seccomp filter may kill the
	 * process for it. */
	if (!cp_load_seqcst(word))
		return true;
	since = cp_sys_clock_ns(CLOCK_MONOTONIC);
	while (cp_load_seqcst(word)) {
		if (cp_sys_clock_ns(CLOCK_MONOTONIC) - since > LONGEST_NS)
			return false;
		cp_sys2(SYS_nanosleep, &moment, NULL);
	}
	return true;
}

/* Both sides announce themselves before they look for the other, so at least one sees the other. A
 * thread doesn't wait for its own fork, whose handlers may do anything. */
static void enter_list(void)
{
	bool waits = !cp_self.forks;

	cp_add_seqcst(&inside, 1);
	while (waits && cp_load_seqcst(&forks)) {
		cp_add_seqcst(&inside, -1);
		waits = wait_while(&forks);
		cp_add_seqcst(&inside, 1);
	}
}

static int (*of_libc)(cp_module_visit *, void *) = dl_iterate_phdr;

void cp_module_list_set_libc(int (*iterate)(cp_module_visit *, void *))
{
	of_libc = iterate;
}

static int walk_list(int (*iterate)(cp_module_visit *, void *), cp_module_visit *visit, void *arg)
{
	int result;

	enter_list();
	result = iterate(visit, arg);
	cp_add_seqcst(&inside, -1);
	return result;
}

int cp_module_list(cp_module_visit *visit, void *arg)
{
	return walk_list(dl_iterate_phdr, visit, arg);
}

int cp_module_list_of_libc(cp_module_visit *visit, void *arg)
{
	return walk_list(of_libc, visit, arg);
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
