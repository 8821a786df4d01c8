/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells how long each thread ran, was ready to run, and waited; see wall.h.
 *
 *     ran = its CPU clock;  ready = the kernel's count of its run delay;  waited = the rest
 *
 * Called at a settle, under the collector's lock, and by a thread that ends. The run delay is in a
 * file, which is gone when the thread is. It is read only for threads that ran, because reading it
 * takes as long as a visit. Where it isn't known, what visits have found divides the rest.
 */

#include "base/text.h"
#include "collect/collect.h"
#include "modes/wall/wall.h"

/* A time for which no visit has found a stack is reported only from this part of the kernel's tick
 * on; otherwise each idle thread would have one more row. */
#define WORTH_A_ROW 16
/* A part of the time, by which the clocks of a thread that always runs may differ. */
#define NOTHING 64

/* A thread that ends reads its run delay if it lived for longer than this: reading it takes 10 us.
 */
#define WORTH_READING_NS UINT64_C(1000000)

/* The same for a thread that begins so long after it was made. */
#define LATE_NS 200000

bool cp_wall_exact_delay(const struct cp_thread *t, uint64_t *delay)
{
	char text[96];
	const char *p = text;
	uint64_t ran;

	/* A kernel that doesn't count has zeros. */
	return cp_thread_file_read(t->tid, "schedstat", text, sizeof(text)) > 0 &&
	       !cp_text_parse_u64(&p, 10, &ran) && *p++ == ' ' &&
	       !cp_text_parse_u64(&p, 10, delay) && ran + *delay;
}

void cp_wall_exact_begin(struct cp_thread *t, bool ran)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t clock = ran ? cp_wall_stack_clock_of(cp_load_relaxed(&t->tid)) : 0;

	w->told = w->told_delay = w->ended_delay = w->lost = 0;
	w->told_cpu = clock == UINT64_MAX ? 0 : clock;
	/* The file of another thread is read when that thread runs. */
	w->delay_unknown = ran && cp_self.thread != t;
	if (ran && !w->delay_unknown)
		cp_wall_exact_delay(t, &w->told_delay);
}

/* Until a thread runs for the first time, it is ready to run, and the kernel counts that. */
uint64_t cp_wall_exact_birth(const struct cp_thread *t)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC), created = cp_wall_of(t)->created, delay;

	if (!created || now - created < LATE_NS || !cp_wall_exact_delay(t, &delay))
		return now;
	return delay < now - created ? now - delay : created;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t told_at(const struct cp_wall_thread *w)
{
	return w->told > w->began ? w->told : w->began;
}

/* Divide NS as A is to B. Returns A's part. */
static uint64_t part_of(uint64_t ns, uint64_t a, uint64_t b)
{
	return a ? (uint64_t)((double)ns * ((double)a / ((double)a + (double)b))) : 0;
}

static uint64_t worth_a_row(void)
{
	return cp_wall.kernel_tick_ns / WORTH_A_ROW;
}

static bool has_stack(const struct cp_wall_thread *w, enum cp_wall_state state)
{
	return w->sampled[state] || w->row[state];
}

/* Return the ns of TOTAL that T ran since the last report; 0: too few to be reported now. */
static uint64_t ran_of(struct cp_thread *t, uint64_t total)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t clock = w->ended ? w->ended_cpu : cp_wall_stack_clock_of(t->tid);
	uint64_t off = w->sampled[CP_WALL_RUNNABLE] + w->sampled[CP_WALL_WAITING];

	uint64_t ran = clock > w->told_cpu ? lesser(clock - w->told_cpu, total) : 0;

	/* If a part may not be reported, or the end of T's clock is unknown, only visits count. */
	if (w->lost || !clock || clock == UINT64_MAX) {
		w->told_cpu = clock;
		return part_of(total, w->sampled[CP_WALL_RUNNING], off);
	}
	if (!w->ended && ran < worth_a_row() && !has_stack(w, CP_WALL_RUNNING))
		return 0;
	w->told_cpu += ran;
	return ran;
}

void cp_wall_exact_look(struct cp_thread *t)
{
	struct cp_wall_thread *w = cp_wall_of(t);

	if (w->delay_unknown && cp_wall_exact_delay(t, &w->told_delay))
		w->delay_unknown = false;
}

void cp_wall_exact_end(struct cp_thread *t, uint64_t cpu)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t lived = cp_sys_clock_ns(CLOCK_MONOTONIC) - w->began, delay;

	if (lived > WORTH_READING_NS && cpu < lived - lived / NOTHING &&
	    cp_wall_exact_delay(t, &delay))
		w->ended_delay = delay;
	cp_thread_timer_bursts_end(CPROF_WALL, &w->bursts, cpu);
}

/* Read T's run delay, which is known after its end if T has read it. RAN: T ran for long enough. */
static bool delay_of(const struct cp_thread *t, bool ran, uint64_t *delay)
{
	const struct cp_wall_thread *w = cp_wall_of(t);

	if (!w->ended)
		return ran && cp_wall_exact_delay(t, delay);
	*delay = w->ended_delay;
	return *delay != 0;
}

uint64_t cp_wall_exact_woken(struct cp_thread *t)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	bool ran = w->ended || cp_wall_stack_clock_of(t->tid) != w->clock;
	uint64_t before = w->still_delay, delay;

	if (before == UINT64_MAX || !delay_of(t, ran, &delay) || delay < before + worth_a_row())
		return 0;
	w->still_delay = delay;
	return delay - before;
}

/* Return the ns that T was ready to run, of REST. RAN: it ran for long enough to be asked. */
static uint64_t ready_of(struct cp_thread *t, uint64_t rest, bool ran)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t by_visits =
		part_of(rest, w->sampled[CP_WALL_RUNNABLE], w->sampled[CP_WALL_WAITING]);
	uint64_t delay;

	if (!delay_of(t, ran, &delay))
		return by_visits;
	if (!w->ended)
		cp_thread_timer_bursts_look(CPROF_WALL, &w->bursts, t, w->told_cpu);
	if (!w->delay_unknown && !w->lost)
		return delay > w->told_delay ? lesser(delay - w->told_delay, rest) : 0;
	/* Everything until now is reported. */
	w->told_delay = delay - lesser(by_visits, delay);
	w->delay_unknown = false;
	return by_visits;
}

uint64_t cp_wall_exact_untold(const struct cp_thread *t)
{
	const struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t told = told_at(w) + w->lost;

	return w->given > told ? w->given - told : 0;
}

struct cp_wall_spent cp_wall_exact_tell(struct cp_thread *t)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t total = cp_wall_exact_untold(t), ran = ran_of(t, total);
	uint64_t ready = ready_of(t, total - ran, ran >= worth_a_row()), waited;

	if (ready < worth_a_row() && !has_stack(w, CP_WALL_RUNNABLE))
		ready = 0;
	w->told_delay += ready;
	waited = total - ran - ready;
	if (waited < worth_a_row() && waited <= total / NOTHING && !has_stack(w, CP_WALL_WAITING)) {
		*(ran >= ready ? &ran : &ready) += waited;
		waited = 0;
	}
	w->told = w->given;
	w->lost = 0;
	return (struct cp_wall_spent){
		{ [CP_WALL_RUNNING] = ran, [CP_WALL_RUNNABLE] = ready, [CP_WALL_WAITING] = waited }
	};
}
