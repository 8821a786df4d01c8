/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks against the shadow stack; see oracle.h. */
#include "oracle.h"

#include <errno.h>

unsigned oracle_libunwind_every = 16;

struct tally {
	unsigned long walks, frames, complete, rooted;
	unsigned long wrong, cut, excused;
};

static struct tally own, libunwind;
static struct oracle_walk walk;
static uint64_t root;
static bool with_libunwind;

void oracle_compare_start(void)
{
	if (cp_unwinder_dwarf.prepare())
		fprintf(stderr, "oracle: the own unwinder does not start\n");
	with_libunwind = oracle_libunwind_every && !cp_unwinder_libunwind.prepare();
}

void oracle_compare_begin(uint64_t where)
{
	root = where;
}

void oracle_compare_forget(void)
{
	cp_unwinder_dwarf.modules_changed();
	if (with_libunwind)
		cp_unwinder_libunwind.modules_changed();
}

static bool is_rooted(const struct oracle_walk *w)
{
	return w->pcs[w->n - 1] - root < 64;
}

static void compare(struct tally *t, bool is_own)
{
	const char *excuse;
	unsigned i = 1;
	bool right;

	while (i < walk.n && walk.pcs[i] == oracle_shadow_right(i))
		i++;
	t->walks++;
	t->frames += walk.n;
	right = i == walk.n && !oracle_shadow_right(i) && walk.end == CP_UNWIND_COMPLETE;
	excuse = right ? NULL : oracle_excuse(&walk, i);
	if (!excuse)
		t->rooted += is_rooted(&walk);
	if (right) {
		t->complete++;
		return;
	}
	if (excuse)
		t->excused++;
	else if (i == walk.n && walk.end == CP_UNWIND_INCOMPLETE)
		t->cut++;
	else
		t->wrong++;
	oracle_difference(&walk, i, is_own);
}

static void walk_with(const struct cp_unwinder *u, const struct cp_unwind_input *in)
{
	walk.n = u->walk(in, walk.pcs, ORACLE_DEPTH, &walk.end);
}

void oracle_compare(const struct cp_unwind_input *in)
{
	int saved = errno;

	walk_with(&cp_unwinder_dwarf, in);
	compare(&own, true);
	if (with_libunwind && own.walks % oracle_libunwind_every == 0) {
		walk_with(&cp_unwinder_libunwind, in);
		compare(&libunwind, false);
	}
	errno = saved;
}

static void print(FILE *out, const char *who, const struct tally *t)
{
	unsigned long counted = t->walks - t->excused;

	fprintf(out,
		"%-9s %9lu stacks %5.1f frames deep: %lu wrong, %lu cut, %.4f %% complete, %.4f %% "
		"end in "
		"the root; %lu in jumps not counted\n",
		who, t->walks, t->walks ? (double)t->frames / (double)t->walks : 0, t->wrong,
		t->cut, counted ? 100.0 * (double)t->complete / (double)counted : 0,
		counted ? 100.0 * (double)t->rooted / (double)counted : 0, t->excused);
}

bool oracle_compare_report(FILE *out)
{
	unsigned long counted = own.walks - own.excused;
	unsigned long unexplained;

	print(out, "own", &own);
	if (with_libunwind)
		print(out, "libunwind", &libunwind);
	unexplained = oracle_difference_report(out);
	return oracle_shadow_report(out) && own.walks && !own.wrong && own.cut * 10000 <= counted &&
	       (counted - own.rooted) * 1000 <= counted && !unexplained;
}
