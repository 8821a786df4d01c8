/* SPDX-License-Identifier: BSD-3-Clause */
/* Common start of the tests of the wall clock: a run without a collector, whose ticks the test
 * makes itself, and threads that wait.
 */
#ifndef WALL_HOST_H
#define WALL_HOST_H

#include "harness.h"

#include "output/output.h"
#include "base/atomic.h"
#include "sample/sample.h"
#include "base/sys.h"
#include "modes/wall/wall.h"
#include "modes/wall/signal/wall_signal.h"
#include "tasks.h"

extern const struct cp_mode_ops cp_mode_wall;

static struct cp_modules modules;
static struct cp_run run;
static sem_t begun, done;
static int tid;

static void *waiter(void *arg)
{
	tid = (int)syscall(SYS_gettid);
	/* A virtual machine's kernel takes off what it was taken away: all of a start at times. */
	while (!cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID))
		;
	sem_post(&begun);
	sem_wait(&done);
	return arg;
}

/* FREQUENCY in Hz. */
static void begin_at(unsigned frequency)
{
	/* Timers are armed for threads that are found running; nobody takes their signals. */
	signal(SIGPROF, SIG_IGN);
	cp_capture_settings.max_depth = 64;
	cp_unwinder_dwarf.prepare();
	run = (struct cp_run){ .ops = &cp_mode_wall, .mode = CPROF_WALL, .running = true };
	cp_modules_init(&modules);
	cp_run_begin(&run, &modules, NULL);
	cp_wall_prepare();
	cp_wall_start(&run, frequency);
}

static void begin(void)
{
	begin_at(50);
}

static void end(void)
{
	cp_wall_stop();
	cp_run_release(&run);
	cp_modules_release(&modules);
}

static inline void wait_ms(long ms)
{
	struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

/* A busy machine leaves it running between its two calls. */
static void await_sleep(int of)
{
	while (task_state(of) != 'S')
		;
}

static struct cp_thread *make_of(pthread_t *thread, void *(*function)(void *))
{
	struct cp_thread *t = cp_thread_claim();

	pthread_create(thread, NULL, function, NULL);
	sem_wait(&begun);
	await_sleep(tid);
	t->start = function;
	cp_store_relaxed(&t->tid, tid);
	cp_store_release(&t->state, CP_THREAD_LIVE);
	cp_wall_timer_thread_begin(t);
	return t;
}

static struct cp_thread *make_another(pthread_t *thread)
{
	return make_of(thread, waiter);
}

/* A record for another thread, which waits until the semaphore DONE is posted. */
static struct cp_thread *make(pthread_t *thread)
{
	sem_init(&begun, 0, 0);
	sem_init(&done, 0, 0);
	return make_another(thread);
}

static void finish(pthread_t thread, struct cp_thread *t)
{
	sem_post(&done);
	pthread_join(thread, NULL);
	cp_thread_free(t);
}

/* Put what visits have found into rows as it is, as if the threads' clocks had told the same. */
static void take_samples(void)
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);
		struct cp_wall_thread *w = cp_wall_of(t);

		for (enum cp_wall_state s = 0; w->began && s < CP_WALL_STATES; s++)
			if (w->sampled[s]) {
				cp_wall_strata_exact(&run, t, s, w->sampled[s]);
				w->sampled[s] = 0;
				w->told = w->given;
				w->lost = 0;
			}
	}
	cp_wall_strata_settle(&run);
}

static uint64_t sum(unsigned value, uint64_t tag)
{
	uint64_t all = 0;

	take_samples();

	for (uint32_t i = 0; i < run.aggregate.stacks.count; i++) {
		const struct cp_stack *s = cp_aggregate_row_at(&run.aggregate, i);

		all += !tag || CP_WALL_ROW_STATE(s->tag) == tag ? s->values[value] : 0;
	}
	return all;
}

#endif
