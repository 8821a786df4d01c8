/* SPDX-License-Identifier: BSD-3-Clause */
/* An interval between samples that follows the program; see heap.h. */
#include "modes/heap/heap.h"

#include "modes/heap/signal/heap_hot.h"

#define TICK_NS UINT64_C(250000000)
/* A larger interval is too rough: threads keep what they have drawn, also when the program has
 * become slow. */
#define MOST (UINT64_C(64) << 20)
/* Few samples: a budget's part below which the interval shrinks. It is less than a half, or the
 * interval would go up and down by chance. */
#define FEW 4

struct cp_heap_budget cp_heap_budget = { .due_ns = UINT64_MAX };

void cp_heap_budget_see(uint64_t interval)
{
	struct cp_heap_budget *b = &cp_heap_budget;

	b->smallest = interval < b->smallest ? interval : b->smallest;
	b->largest = interval > b->largest ? interval : b->largest;
	/* Below CP_HEAP_FILTER_INTERVAL each free looks up its address, whatever is sampled. */
	b->least = interval < CP_HEAP_FILTER_INTERVAL ? interval : CP_HEAP_FILTER_INTERVAL;
	b->most = interval > MOST ? interval : MOST;
}

/* The time that a sample is taken to need until it is measured. The first look measures nothing:
 * the first samples need a hundred times as long, because the rule of each frame is made. */
#define SAMPLE_NS 2000

void cp_heap_budget_set(uint64_t budget, uint64_t samples, uint64_t now_ns)
{
	struct cp_heap_budget *b = &cp_heap_budget;

	b->budget = budget;
	b->percent = 0;
	b->average = 0;
	b->samples = samples;
	b->at_ns = now_ns;
	b->due_ns = budget ? now_ns + TICK_NS : UINT64_MAX;
}

void cp_heap_budget_set_share(unsigned percent, uint64_t samples, uint64_t now_ns, uint64_t cpu_ns)
{
	struct cp_heap_budget *b = &cp_heap_budget;

	cp_heap_budget_set(1, samples, now_ns);
	b->percent = percent;
	b->cpu_ns = cpu_ns;
	b->timed = b->timed_ns = 0;
	b->sample_ns = SAMPLE_NS;
}

static void begin_interval(uint64_t interval)
{
	cp_heap_budget = (struct cp_heap_budget){ .smallest = interval, .largest = interval };
	cp_heap_budget_see(interval);
}

void cp_heap_budget_start(uint64_t budget, uint64_t interval, uint64_t samples, uint64_t now_ns)
{
	begin_interval(interval);
	cp_heap_budget_set(budget, samples, now_ns);
}

void cp_heap_budget_start_share(unsigned percent, uint64_t interval, uint64_t samples,
				uint64_t now_ns, uint64_t cpu_ns)
{
	begin_interval(interval);
	cp_heap_budget_set_share(percent, samples, now_ns, cpu_ns);
}

void cp_heap_budget_pay(uint64_t cpu_ns, uint64_t timed, uint64_t timed_ns, uint64_t now_ns)
{
	struct cp_heap_budget *b = &cp_heap_budget;
	uint64_t used = cpu_ns > b->cpu_ns ? cpu_ns - b->cpu_ns : 0, elapsed = now_ns - b->at_ns;

	if (b->timed && timed > b->timed && timed_ns > b->timed_ns)
		b->sample_ns = (timed_ns - b->timed_ns) / (timed - b->timed) + 1;
	b->cpu_ns = cpu_ns;
	b->timed = timed;
	b->timed_ns = timed_ns;
	if (b->percent && elapsed)
		b->budget =
			used * b->percent / 100 / b->sample_ns * UINT64_C(1000000000) / elapsed + 1;
}

static uint64_t grown(struct cp_heap_budget *b, uint64_t interval, uint64_t rate)
{
	for (; rate > b->budget && interval <= b->most / 2; rate /= 2) {
		interval *= 2;
		b->average /= 2;
	}
	return interval;
}

static uint64_t adapted(struct cp_heap_budget *b, uint64_t interval, uint64_t rate)
{
	b->average = (3 * b->average + rate) / 4;
	if (rate > b->budget)
		return grown(b, interval, rate);
	if (rate * FEW >= b->budget || b->average * FEW >= b->budget || interval / 2 < b->least)
		return interval;
	b->average *= 2;
	return interval / 2;
}

uint64_t cp_heap_budget_tick(uint64_t interval, uint64_t samples, uint64_t now_ns)
{
	struct cp_heap_budget *b = &cp_heap_budget;
	uint64_t elapsed = now_ns - b->at_ns, new = interval;

	/* A fork child's count begins anew. */
	if (elapsed && samples >= b->samples)
		new = adapted(b, interval,
			      (uint64_t)((unsigned __int128)(samples - b->samples) * 1000000000 /
					 elapsed));
	b->samples = samples;
	b->at_ns = now_ns;
	b->due_ns = now_ns + TICK_NS;
	b->changes += new != interval;
	b->smallest = new < b->smallest ? new : b->smallest;
	b->largest = new > b->largest ? new : b->largest;
	return new;
}
