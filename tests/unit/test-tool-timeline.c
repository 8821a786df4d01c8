/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/verbs/timeline_memory.c: jumps of memory are told, steady growth and chance are not. */
#include <stdlib.h>

#include "chance.h"
#include "core/times.h"
#include "harness.h"
#include "verbs/timeline.h"

#define MB 1e6
#define MOST 600
#define RUNS 2000

static struct ct_times_counter counters[MOST];
static struct ct_timeline_jump jumps[CT_TIMELINE_JUMPS];

static void set(size_t i, double bytes)
{
	counters[i].when = i * 1000000000;
	counters[i].resident = (uint64_t)fmax(bytes, 0);
}

enum kind { FLAT, GROWTH, ALLOCATIONS, WALK, LEVEL, SAWTOOTH, SPIKES, KINDS };

/* Returns memory at I, after BEFORE, of a run that has no jump. */
static double next(enum kind kind, size_t i, double before)
{
	switch (kind) {
	case FLAT: return 100 * MB;
	case GROWTH: return 100 * MB + (double)i * MB + 4096 * floor(20 * draw_normal());
	case ALLOCATIONS: return before - MB * log(draw());
	case WALK: return before + 3 * MB * draw_normal();
	case LEVEL: return 100 * MB + 10 * MB * draw_normal();
	case SAWTOOTH: return 100 * MB + 5 * MB * (double)(i % 9);
	default: return i % 7 == 3 ? 300 * MB : 100 * MB;
	}
}

static size_t simulate(enum kind kind, size_t count, size_t at, double bytes)
{
	double memory = 100 * MB;

	for (size_t i = 0; i < count; i++) {
		memory = next(kind, i, memory);
		set(i, memory + (i >= at ? bytes : 0));
	}
	return ct_timeline_memory_jumps(counters, count, jumps);
}

TEST(test_chance_has_no_jump)
{
	for (int kind = 0; kind < KINDS; kind++)
		for (size_t run = 0; run < RUNS; run++) {
			size_t count = 2 + (size_t)(draw() * (MOST - 3));

			count = run % 2 ? count : count % 20;
			CHECK_EQ(kind == SPIKES && count < 30 ? 0 : simulate(kind, count, count, 0),
				 0);
		}
}

TEST(test_a_jump_is_found)
{
	for (int kind = 0; kind < KINDS; kind++) {
		size_t at = 20 + (size_t)(draw() * 30);

		if (kind == SPIKES)
			continue;
		CHECK_EQ(simulate(kind, 60, at, 412 * MB), 1);
		CHECK(jumps[0].from == 1e9 * (double)(at - 1) && jumps[0].to == 1e9 * (double)at);
		CHECK(fabs(jumps[0].bytes - 412 * MB) < 60 * MB);
	}
}

/* It may take some seconds, memory may be returned, and there may be three, of other sizes. */
TEST(test_several_jumps)
{
	for (size_t i = 0; i < 60; i++)
		set(i, 50 * MB + (i > 9 ? 100 * MB : 0) + (i > 20 ? 250 * MB : 0) +
			       (i > 21 ? 90 * MB : 0) - (i > 30 ? 300 * MB : 0) +
			       (i > 40 ? 60 * MB : 0));
	CHECK_EQ(ct_timeline_memory_jumps(counters, 60, jumps), 3);
	CHECK(jumps[1].from == 20e9 && jumps[1].to == 22e9 && jumps[1].bytes == 340 * MB);
	CHECK(jumps[2].from == 40e9 && jumps[2].bytes == 60 * MB);
}

TEST(test_few_counters_tell_nothing)
{
	for (size_t i = 0; i < 6; i++)
		set(i, i < 3 ? 0 : 900 * MB);
	for (size_t count = 0; count <= 6; count++)
		CHECK_EQ(ct_timeline_memory_jumps(counters, count, jumps), 0);
}
