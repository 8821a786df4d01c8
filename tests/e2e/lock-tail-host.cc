/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that hold a lock to their end, so that at -O2 the unlock is a tail call: when it runs,
 * the function is not on the stack any more. A thread waits for each of them.
 *
 * Prints a line per case: the lock's name, and the function that must be named as its holder.
 */
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <threads.h>

#include "system.h"
#include "tasks.h"

#define NOINLINE __attribute__((noinline))
#define STAYS __asm__ volatile("" ::: "memory")
#define ROUNDS 25

std::mutex called_lock, pointer_lock, wrapped_lock, tried_lock, late_lock, kept_lock;
std::shared_mutex reading_lock, writing_lock;
mtx_t c11_lock;
pthread_mutex_t paired_lock = PTHREAD_MUTEX_INITIALIZER;

static std::atomic<int> held, waiter_tid;

static void nap()
{
	struct timespec t = { 0, 100000 };

	nanosleep(&t, nullptr);
}

/* The waiter comes, however busy the machine is, and waits for a while. */
static void hold()
{
	struct timespec t = { 0, 2000000 };

	held = 1;
	while (!waiter_tid || task_state(waiter_tid) != 'S')
		nap();
	nanosleep(&t, nullptr);
}

NOINLINE void called_holder()
{
	std::lock_guard<std::mutex> guard(called_lock);
	hold();
}

/* Called through a pointer: the missing function can't be known. An earlier holder must not be
 * taken for it. */
NOINLINE void short_holder()
{
	std::lock_guard<std::mutex> guard(pointer_lock);
}

NOINLINE void pointer_holder()
{
	std::lock_guard<std::mutex> guard(pointer_lock);
	hold();
}

/* std::mutex::lock checks its result, so it is on the stack; the unlock is not. */
NOINLINE void take_wrapped()
{
	wrapped_lock.lock();
}

NOINLINE void give_wrapped()
{
	wrapped_lock.unlock();
}

NOINLINE void wrapped_holder()
{
	take_wrapped();
	hold();
	give_wrapped();
	STAYS;
}

NOINLINE void tried_holder()
{
	if (!tried_lock.try_lock())
		return;
	hold();
	tried_lock.unlock();
}

NOINLINE void late_holder()
{
	std::lock_guard<std::mutex> guard(late_lock);
	hold();
}

NOINLINE void kept_holder()
{
	kept_lock.lock();
	hold();
	kept_lock.unlock();
	STAYS;
}

NOINLINE void reading_holder()
{
	std::shared_lock<std::shared_mutex> guard(reading_lock);
	hold();
}

NOINLINE void writing_holder()
{
	std::unique_lock<std::shared_mutex> guard(writing_lock);
	hold();
}

NOINLINE void c11_holder()
{
	mtx_lock(&c11_lock);
	hold();
	mtx_unlock(&c11_lock);
}

/* Nothing is missing: both are called by the function that holds. */
NOINLINE int take_paired()
{
	return pthread_mutex_lock(&paired_lock) ? -1 : 0;
}

NOINLINE int give_paired()
{
	return pthread_mutex_unlock(&paired_lock) ? -1 : 0;
}

NOINLINE void paired_holder()
{
	take_paired();
	hold();
	give_paired();
	STAYS;
}

static void (*volatile pointer)();

/* The functions to which the holders return. */
NOINLINE static void call_holder(int which)
{
	switch (which) {
	case 0: called_holder(); break;
	case 1: pointer(); break;
	case 2: wrapped_holder(); break;
	case 3: tried_holder(); break;
	case 4: late_holder(); break;
	case 5: kept_holder(); break;
	case 6: reading_holder(); break;
	case 7: writing_holder(); break;
	case 8: c11_holder(); break;
	case 9: paired_holder(); break;
	}
	STAYS;
}

static void wait_for_holder(int which)
{
	switch (which) {
	case 0: called_lock.lock(), called_lock.unlock(); break;
	case 1: pointer_lock.lock(), pointer_lock.unlock(); break;
	case 2: wrapped_lock.lock(), wrapped_lock.unlock(); break;
	case 3: tried_lock.lock(), tried_lock.unlock(); break;
	case 4: late_lock.lock(), late_lock.unlock(); break;
	case 5: kept_lock.lock(), kept_lock.unlock(); break;
	case 6: reading_lock.lock(), reading_lock.unlock(); break;
	case 7: writing_lock.lock(), writing_lock.unlock(); break;
	case 8: mtx_lock(&c11_lock), mtx_unlock(&c11_lock); break;
	case 9: pthread_mutex_lock(&paired_lock), pthread_mutex_unlock(&paired_lock); break;
	}
}

static const char *const cases[][2] = {
	{ "called_lock", "called_holder" },
	{ "pointer_lock", "" },
	{ "wrapped_lock", "give_wrapped;wrapped_holder" },
	{ "tried_lock", "tried_holder" },
	{ "late_lock", "late_holder" },
	{ "kept_lock", "kept_holder" },
	{ "reading_lock", "reading_holder" },
	{ "writing_lock", "writing_holder" },
	{ "c11_lock", "c11_holder" },
	{ "paired_lock", "give_paired;paired_holder" },
};

int main()
{
	mtx_init(&c11_lock, mtx_plain);
	/* A lock that was free so often is not looked at any more when it is taken. */
	for (int i = 0; i < 1000; i++)
		late_lock.lock(), late_lock.unlock();
	for (int which = 0; which < (int)(sizeof(cases) / sizeof(*cases)); which++) {
		for (int i = 0; i < ROUNDS; i++) {
			pointer = short_holder;
			call_holder(1);
			pointer = pointer_holder;
			held = waiter_tid = 0;
			std::thread waiter([which] {
				while (!held)
					nap();
				waiter_tid = gettid();
				wait_for_holder(which);
			});
			call_holder(which);
			waiter.join();
		}
		printf("%s %s\n", cases[which][0], cases[which][1]);
	}
	return 0;
}
