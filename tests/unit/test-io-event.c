/* SPDX-License-Identifier: BSD-3-Clause */
/* Input and output: no handler runs between the parts of a call's record; calls of threads whose
 * record is free again are told. */
#define OWN_MAIN
#include "harness.h"

#include "host/real.h"
#include "modes/io/io.h"
#include "modes/io/signal/io_signal.h"
#include "sample/sample.h"
#include "sample/thread.h"

uint64_t __real_cp_io_sample_take(struct cp_io_sampler *s, struct cp_io_points *p, uint64_t *random,
				  const struct cp_io_rates *r, const uint64_t sums[CP_IO_SUMS],
				  const uint64_t values[CP_IO_SUMS], uint64_t now, double room);
uint64_t __wrap_cp_io_sample_take(struct cp_io_sampler *s, struct cp_io_points *p, uint64_t *random,
				  const struct cp_io_rates *r, const uint64_t sums[CP_IO_SUMS],
				  const uint64_t values[CP_IO_SUMS], uint64_t now, double room);
bool __wrap_cp_capture_hook(struct cp_thread *t, const struct cp_event *e,
			    const struct cp_regs *regs, const void *leaf);

extern const struct cp_mode_ops cp_mode_io;

static const struct cp_io_call call = { .op = CP_IO_WRITE, .kind = CP_FD_FILE, .on = { NULL, -1 } };
static volatile sig_atomic_t records, within, handled, handled_within;
static bool raises_in_draw, raises_in_record;

/* A call of a cell that begins is recorded. */
static void call_once(void)
{
	struct cp_io_block *b = cp_io_counts_block(cp_self.thread->index);

	b->cell[CP_IO_WRITE][CP_FD_FILE].points = (struct cp_io_points){ 0 };
	if (b->cell[CP_IO_WRITE][CP_FD_FILE].delays)
		b->cell[CP_IO_WRITE][CP_FD_FILE].delays->sampler = (struct cp_io_sampler){ 0 };
	cp_io_event_ended(&call);
}

/* A signal comes now, whose handler makes a call, too. */
static void signal_comes(bool *wanted)
{
	if (!*wanted)
		return;
	*wanted = false;
	within = 1;
	raise(SIGUSR1);
	within = 0;
}

uint64_t __wrap_cp_io_sample_take(struct cp_io_sampler *s, struct cp_io_points *p, uint64_t *random,
				  const struct cp_io_rates *r, const uint64_t sums[CP_IO_SUMS],
				  const uint64_t values[CP_IO_SUMS], uint64_t now, double room)
{
	signal_comes(&raises_in_draw);
	return __real_cp_io_sample_take(s, p, random, r, sums, values, now, room);
}

bool __wrap_cp_capture_hook(struct cp_thread *t, const struct cp_event *e,
			    const struct cp_regs *regs, const void *leaf)
{
	(void)t;
	(void)e;
	(void)regs;
	(void)leaf;
	signal_comes(&raises_in_record);
	records++;
	return true;
}

static void handler(int sig)
{
	(void)sig;
	handled++;
	handled_within += within;
	call_once();
}

static void check(bool *raises)
{
	records = handled = handled_within = 0;
	*raises = true;
	call_once();
	CHECK_EQ(handled, 1);
	CHECK_EQ(handled_within, 0);
	/* The call's own, and then the handler's. */
	CHECK_EQ(records, 2);
}

TEST(test_no_handler_runs_while_a_call_is_drawn)
{
	check(&raises_in_draw);
}

TEST(test_no_handler_runs_while_a_call_is_recorded)
{
	check(&raises_in_record);
}

static uint64_t told_calls(void)
{
	static struct cp_modules modules;
	static struct cp_run run = { .ops = &cp_mode_io, .mode = CPROF_IO };
	uint64_t calls = 0;

	if (!run.running) {
		run.running = true;
		cp_modules_init(&modules);
		cp_run_begin(&run, &modules, NULL);
	}
	cp_io_rows_tell(&run);
	cp_io_rows_settle(&run);
	for (uint32_t i = 0; i < run.aggregate.stacks.count; i++)
		calls += cp_aggregate_row_at(&run.aggregate, i)->values[0];
	return calls;
}

/* A thread with record T makes a call and ends. */
static void live_for_a_call(struct cp_thread *t)
{
	struct cp_thread *self = cp_self.thread;

	cp_self.thread = t;
	cp_io_event_ended(&call);
	cp_self.thread = self;
	cp_thread_free(t);
}

TEST(test_free_records_are_told_once_for_each_thread)
{
	struct cp_thread *t = cp_thread_claim();
	uint64_t before = told_calls();

	live_for_a_call(t);
	CHECK_EQ(told_calls(), before + 1);
	/* The next thread with this record. */
	while (cp_thread_claim() != t)
		;
	live_for_a_call(t);
	CHECK_EQ(told_calls(), before + 2);
	/* Which nobody uses any more, so it isn't read. */
	cp_io_counts_existing(t->index)->cell[call.op][call.kind].sums[CP_IO_CALLS]++;
	CHECK_EQ(told_calls(), before + 2);
}

int main(void)
{
	struct sigaction a = { .sa_handler = handler };

	cp_real_prepare_clock();
	CHECK_EQ(cp_io_counts_prepare(), 0);
	sigaction(SIGUSR1, &a, NULL);
	cp_thread_enter(cp_thread_claim());
	cp_io_state.by_clock = true;
	cp_io_state.rates = (struct cp_io_rates){ .second = 1000000000, .budget = 1000000 };
	cp_io_active = CP_IO_ON;
	harness_all();
	return harness_end();
}
