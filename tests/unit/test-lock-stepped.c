/* SPDX-License-Identifier: BSD-3-Clause */
/* A handler unlocks a lock for which a thread waits, after each instruction of its own thread's
 * work at such an unlock: the two never have one entry at the same time. */
#include "harness.h"

#if defined(__x86_64__)

#include "lock-fixture.h"
#include "stepped.h"

static int the_lock;
static struct cp_lock_release by_handler;
static uint64_t handlers_use; /* of the entry */

/* Its generation: in use once more, it has another. */
static uint64_t use_of(const struct cp_holder *h)
{
	return h->state >> 32;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	if (!stepped_comes(context))
		return;
	cp_lock_event_release_begin(&by_handler, &the_lock);
	handlers_use = by_handler.holder ? use_of(by_handler.holder) : 0;
	cp_lock_event_release_end(&by_handler, (const void *)on_trap, true);
}

/* false: the handler comes after all of it. */
static bool begin_step(void)
{
	bool goes_on = !step || came;

	by_handler.holder = NULL;
	came = seen = 0;
	return goes_on && step < STEPS_MAX;
}

TEST(test_handler_amid_an_unlock)
{
	const struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct cp_thread *t = begin();
	struct cp_lock_release r;
	struct cp_lock_note n;
	unsigned both = 0;

	sigaction(SIGTRAP, &act, NULL);
	cp_lock_holder_pace = 0;
	cp_lock_holder_note(&n, t, &the_lock, cp_lock_event_begin(), 0);
	for (step = 0; begin_step(); step++) {
		TRACE();
		cp_lock_event_release_begin(&r, &the_lock);
		DONT_TRACE();
		CHECK(r.wanted && r.holder);
		CHECK(r.holder != by_handler.holder || use_of(r.holder) != handlers_use);
		both += r.holder && by_handler.holder;
		cp_lock_event_release_end(&r, (const void *)on_trap, true);
	}
	CHECK(both > 20);
	CHECK(step > 20 && step < STEPS_MAX);
	end(t);
}

#else

TEST(test_handler_amid_an_unlock)
{
	SKIP("no flag that makes each instruction trap");
}

#endif
