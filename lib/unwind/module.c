/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks the loader's list of modules, safely across forks, and compares two such lists; see
 * unwind.h. */
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
	cp_self.forks++;
	cp_add_seqcst(&forks, 1);
	wait_while(&inside);
}

void cp_module_list_fork_end(void)
{
	cp_self.forks--;
	cp_add_seqcst(&forks, -1);
}

void cp_module_list_fork_child(void)
{
	cp_self.forks = 0;
	cp_store_relaxed(&inside, 0);
	cp_store_relaxed(&forks, 0);
}

/* Compares the modules before and after a dlclose. */

/* Only address space is reserved: unwritten pages take no memory. */
#define MODULES 8192u

struct range {
	uint64_t low, high; /* addresses of its segments: [low, high) */
	bool stays;
};

struct cp_module_diff {
	uint64_t adds, subs; /* the loader's counts of modules ever loaded and unloaded, in all
				namespaces */
	unsigned count;
	bool full;
	struct range modules[MODULES];
};

static void add_segment(struct range *r, uint64_t low, uint64_t high)
{
	r->low = low < r->low ? low : r->low;
	r->high = high > r->high ? high : r->high;
}

static struct range range_of(const struct dl_phdr_info *info)
{
	struct range r = { .low = UINT64_MAX };

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD)
			add_segment(&r, at, at + p->p_memsz);
	}
	return r;
}

static int list_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct cp_module_diff *u = arg;

	u->adds = info->dlpi_adds;
	u->subs = info->dlpi_subs;
	u->full = u->count == MODULES;
	if (u->full)
		return 1;
	u->modules[u->count++] = range_of(info);
	return 0;
}

struct cp_module_diff *cp_module_diff_before(void)
{
	struct cp_module_diff *u = cp_sys_map(sizeof(*u));

	if (!u)
		return NULL;
	cp_module_list(list_module, u);
	if (!u->full)
		return u;
	cp_sys_unmap(u, sizeof(*u));
	return NULL;
}

struct second {
	struct cp_module_diff *u;
	uint64_t adds, subs;
	unsigned at; /* index in the list, whose order stays */
};

static int mark_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct second *s = arg;
	struct range now = range_of(info);

	s->adds = info->dlpi_adds;
	s->subs = info->dlpi_subs;
	while (s->at < s->u->count && s->u->modules[s->at].low != now.low)
		s->at++;
	if (s->at < s->u->count)
		s->u->modules[s->at].stays = true;
	return 0;
}

static int counters(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct second *s = arg;

	s->adds = info->dlpi_adds;
	s->subs = info->dlpi_subs;
	return 1;
}

uint64_t cp_module_diff_loads(void)
{
	struct second now = { 0 };

	cp_module_list_of_libc(counters, &now);
	return now.adds;
}

/* Is the list libc's? Some programs have an own list, which may be outdated. */
static bool is_libcs(const struct second *s)
{
	struct second now = { 0 };

	cp_module_list_of_libc(counters, &now);
	return now.adds == s->adds && now.subs == s->subs;
}

/* As long as no module was loaded, a place in the list holds the same module or none. */
bool cp_module_diff_each(struct cp_module_diff *u, void (*unloaded)(uint64_t low, uint64_t high))
{
	struct second s = { .u = u };
	uint64_t found = 0;
	bool all;

	if (!u)
		return false;
	cp_module_list(mark_module, &s);
	for (unsigned i = 0; i < u->count; i++)
		if (!u->modules[i].stays) {
			unloaded(u->modules[i].low, u->modules[i].high);
			found++;
		}
	all = s.adds == u->adds && s.subs - u->subs == found && is_libcs(&s);
	cp_sys_unmap(u, sizeof(*u));
	return all;
}
