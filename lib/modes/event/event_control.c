/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts and stops the events of threads; see event.h. */
#include "modes/event/event.h"

#include <errno.h>

#include "base/start_data.h"
#include "base/text.h"
#include "collect/collect.h"
#include "host/host.h"
#include "modes/event/signal/event_hit.h"

/* The golden ratio's fraction, in units of 2^-64. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

struct cp_event_control cp_event_control;

static struct cp_futex_lock events CP_START_DATA; /* guards creation and deletion */
static uint64_t phase;				  /* golden-ratio sequence, random start */
static char reason[128];			  /* the text of a refusal or a narrowing */

static void seed_phase(void)
{
	if (cp_sys3(SYS_getrandom, &phase, sizeof(phase), 1 /* GRND_NONBLOCK */) < 0)
		phase = cp_sys_clock_ns(CLOCK_MONOTONIC) * GOLDEN;
}

/* Return after how many events a thread's first hit is due, from 1 to the period. All numbers are
 * equally likely, and threads that begin one after the other are spread. */
static uint64_t first(void)
{
	return 1 + (uint64_t)((__uint128_t)cp_add_relaxed(&phase, GOLDEN) * cp_event_state.period >>
			      64);
}

static bool has_event(const struct cp_thread *t)
{
	return cp_load_relaxed(&cp_event_of(t)->pages) != NULL;
}

static bool may_begin(const struct cp_thread *t)
{
	return cp_load_relaxed(&cp_event_state.running) && !cp_load_relaxed(&t->unsignalled) &&
	       !has_event(t);
}

static bool open_event(struct cp_thread *t)
{
	struct cp_perf *p = cp_event_of(t);

	p->what = &cp_event_control.event.what;
	return t->own_tls && !cp_perf_event_open(p, t->tid, first(), cp_event_state.period);
}

static void begin_locked(struct cp_thread *t)
{
	if (!may_begin(t))
		return;
	cp_count_mode(CPROF_EVENT, CP_COUNT_THREADS, 1);
	if (!open_event(t))
		cp_count_mode(CPROF_EVENT, CP_COUNT_EVENT_FAILURES, 1);
}

static void delete_event(struct cp_thread *t)
{
	/* Seqcst: pairs with the handler's store of BUSY and its check whether the mode runs. T
	 * itself, with its signals blocked, is in no handler. */
	while (cp_load_seqcst(&cp_event_of(t)->busy))
		cp_sys_yield();
	cp_perf_event_close(cp_event_of(t));
}

/* A thread whose event could not be made was counted already. */
static void begin_again(struct cp_thread *t)
{
	bool had = has_event(t);

	delete_event(t);
	if (had && !open_event(t))
		cp_count_mode(CPROF_EVENT, CP_COUNT_EVENT_FAILURES, 1);
}

static void each_thread(void (*visit)(struct cp_thread *t))
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		if (cp_load_acquire(&t->state) == CP_THREAD_LIVE)
			visit(t);
	}
}

/* Where the kernel's part is not allowed, the program's is counted, as perf does it. */
static void probe(struct cp_event_control *c)
{
	int err;

	c->narrowed = NULL;
	c->refusal = cp_perf_probe(&c->event.what, &err);
	if (!c->refusal || !err || c->event.what.user)
		return;
	cp_text_format(reason, sizeof(reason), "%s", c->refusal);
	c->event.what.user = true;
	if (cp_perf_probe(&c->event.what, &err)) {
		c->event.what.user = false;
		c->refusal = reason;
		return;
	}
	c->narrowed = reason;
	c->refusal = NULL;
}

int cp_event_control_set_period(unsigned period)
{
	struct cp_event_control *c = &cp_event_control;

	if (period < c->event.least)
		return -ERANGE;
	cp_futex_lock_acquire(&events);
	c->period = period;
	if (!c->refusal) {
		/* A handler that comes meanwhile leaves its event alone. */
		cp_store_seqcst(&cp_event_state.running, 0);
		cp_event_state.period = period;
		each_thread(begin_again);
		cp_store_seqcst(&cp_event_state.running, 1);
	}
	cp_futex_lock_release(&events);
	return 0;
}

int cp_event_control_start(const char *event, unsigned period)
{
	struct cp_event_control *c = &cp_event_control;
	int err = cp_signals_claim_prof();

	if (err < 0)
		return err;
	cp_futex_lock_acquire(&events);
	if (!cp_event_names_find(event, &c->event))
		cp_event_names_find("page-faults", &c->event);
	c->period = period ? period : c->event.period;
	if (c->period < c->event.least) {
		c->period = c->event.least;
		cp_log("CPROF_EVENT_PERIOD=%u: %s can be sampled each %u; minor-faults can each "
		       "time",
		       period, c->event.text, c->period);
	}
	probe(c);
	if (c->refusal) {
		cp_log("CPROF_EVENT=%s is not possible (%s); its profile will be empty", event,
		       c->refusal);
	} else {
		cp_sigprof_add(CPROF_EVENT, &cp_event_hit_source);
		seed_phase();
		cp_event_state.period = c->period;
		cp_store_seqcst(&cp_event_state.used, 1);
		/* Threads that begin from here on start their own event. The loop finds the
		 * others. */
		cp_store_seqcst(&cp_event_state.running, 1);
		each_thread(begin_locked);
	}
	cp_futex_lock_release(&events);
	return 0;
}

void cp_event_control_stop(void)
{
	cp_futex_lock_acquire(&events);
	cp_store_seqcst(&cp_event_state.running, 0);
	each_thread(delete_event);
	cp_futex_lock_release(&events);
}

/* No thread has an event yet: a thread that begins or ends need not take the lock. A start that
 * comes now finds those that are live. */
static bool is_unused(void)
{
	return !cp_load_seqcst(&cp_event_state.used);
}

void cp_event_control_thread_begin(struct cp_thread *t)
{
	if (is_unused())
		return;
	cp_futex_lock_acquire(&events);
	begin_locked(t);
	cp_futex_lock_release(&events);
}

void cp_event_control_thread_end(struct cp_thread *t)
{
	if (is_unused())
		return;
	cp_futex_lock_acquire(&events);
	delete_event(t);
	cp_futex_lock_release(&events);
}

void cp_event_control_fork_locks(void)
{
	cp_futex_lock_reset(&events);
}

void cp_event_control_fork_child(struct cp_thread *t)
{
	cp_event_control_fork_locks();
	if (!t)
		cp_store_seqcst(&cp_event_state.running, 0);
	else
		cp_event_control_thread_begin(t);
}

void cp_event_control_exec_begin(void)
{
	if (cp_self.thread)
		cp_event_control_thread_end(cp_self.thread);
}

void cp_event_control_exec_failed(void)
{
	if (cp_self.thread)
		cp_event_control_thread_begin(cp_self.thread);
}
