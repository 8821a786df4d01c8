/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack as calls and returns make it; see oracle.h. */
#include "oracle.h"

#define SHADOW 65536

static struct oracle_call calls[SHADOW];
static unsigned depth;
static struct oracle_walk outside; /* from where the stepping began outwards */
static unsigned left;		   /* frames of it that were returned from */
static unsigned long confirmed, refuted;

void oracle_shadow_begin(const struct oracle_walk *outer)
{
	depth = left = 0;
	outside = *outer;
}

void oracle_shadow_push(const struct oracle_call *call)
{
	if (depth < SHADOW)
		calls[depth++] = *call;
}

void oracle_shadow_pop(uint64_t sp)
{
	while (depth && calls[depth - 1].slot < sp)
		oracle_skip_returned(calls[--depth].callee);
}

struct oracle_call *oracle_shadow_call(unsigned i)
{
	return i < depth ? &calls[depth - 1 - i] : NULL;
}

uint64_t oracle_shadow_right(unsigned i)
{
	if (i <= depth)
		return calls[depth - i].ra - !calls[depth - i].exact;
	i -= depth;
	return left + i < outside.n ? outside.pcs[left + i] : 0;
}

void oracle_shadow_returned(uint64_t pc)
{
	if (depth || left + 1 >= outside.n)
		return;
	left++;
	/* To a signal's trampoline, and from there, the walk goes without a call. */
	if (outside.pcs[left] + 1 == pc || outside.pcs[left] == pc) {
		confirmed++;
		return;
	}
	refuted++;
	fprintf(stderr, "oracle: where the stepping began, frame %u was wrong:\n", left);
	oracle_show(stderr, outside.pcs[left]);
	oracle_show(stderr, pc - 1);
	outside.pcs[left] = pc - 1;
}

bool oracle_shadow_report(FILE *out)
{
	if (confirmed + refuted)
		fprintf(out,
			"frames from before the stepping began: %lu returned to as walked, %lu "
			"not\n",
			confirmed, refuted);
	return refuted == 0;
}
