/* SPDX-License-Identifier: BSD-3-Clause */
/* Whom the sweep takes and whom it lets go; and beside threads that register themselves: whichever
 * comes first, each has one record. The linker leads calls over functions of this file, where the
 * other thread gets its turn.
 */
#define OWN_MAIN
#include "harness.h"

#include "modes/cpu/cpu.h"
#include "modes/cpu/signal/cpu_signal.h"
#include "base/base.h"
#include "host/real.h"
#include "base/atomic.h"
#include "base/sys.h"
#include "output/output.h"
#include "sample/thread.h"
#include "collect/collect.h"

#define EXPECT CHECK
#include "deny.h"
#include "tasks.h"

struct cp_thread *__real_cp_thread_claim(void);
struct cp_thread *__wrap_cp_thread_claim(void);
void __real_cp_mode_ops_thread_begin(struct cp_thread *t);
void __wrap_cp_mode_ops_thread_begin(struct cp_thread *t);
void *__real_cp_vec_add(struct cp_vec *v);
void *__wrap_cp_vec_add(struct cp_vec *v);
int __real_cp_index_add(struct cp_index *ix, uint32_t hash, uint32_t item);
int __wrap_cp_index_add(struct cp_index *ix, uint32_t hash, uint32_t item);

static const struct cp_sweep_ours none;
static void (*at_claim)(void), (*at_foreign_begin)(void);
static sem_t begun, entered, done;
static int tid;

static void call(void (**function)(void))
{
	void (*once)(void) = *function;

	*function = NULL;
	if (once)
		once();
}

struct cp_thread *__wrap_cp_thread_claim(void)
{
	call(&at_claim);
	return __real_cp_thread_claim();
}

void __wrap_cp_mode_ops_thread_begin(struct cp_thread *t)
{
	if (t->foreign)
		call(&at_foreign_begin);
	__real_cp_mode_ops_thread_begin(t);
}

static struct cp_vec *strangers;
static struct cp_index *tids;

void *__wrap_cp_vec_add(struct cp_vec *v)
{
	strangers = v;
	return __real_cp_vec_add(v);
}

int __wrap_cp_index_add(struct cp_index *ix, uint32_t hash, uint32_t item)
{
	tids = ix;
	return __real_cp_index_add(ix, hash, item);
}

/* ---- a thread that nobody announced ---- */

struct bystander {
	pthread_t thread;
	sem_t end;
	int tid;
};

static void *stand_by(void *arg)
{
	struct bystander *b = arg;

	b->tid = cp_sys_gettid();
	sem_post(&begun);
	sem_wait(&b->end);
	return NULL;
}

static void bystander_begin(struct bystander *b)
{
	sem_init(&b->end, 0, 0);
	CHECK_EQ(pthread_create(&b->thread, NULL, stand_by, b), 0);
	sem_wait(&begun);
}

/* Also of /proc: libc tells of its end a little before that. */
static void join(pthread_t thread, const int *its)
{
	pthread_join(thread, NULL);
	while (!cp_sys3(SYS_tgkill, cp_sys_getpid(), *its, 0))
		cp_sys_yield();
}

/* And the sweep knows of it. */
static void bystander_end(struct bystander *b)
{
	sem_post(&b->end);
	join(b->thread, &b->tid);
	cp_sweep_threads(&none);
}

/* A prepared thread's record counts as a thread; meanwhile the sweep may overlook one. */
TEST(test_a_thread_is_registered_when_it_is_seen_twice_in_a_row)
{
	struct cp_thread *prepared;
	struct bystander b;

	bystander_begin(&b);
	CHECK(cp_sweep_threads(&none));
	prepared = cp_thread_claim();
	CHECK(!cp_sweep_threads(&none));
	cp_thread_free(prepared);
	CHECK(cp_sweep_threads(&none));
	CHECK(!cp_thread_of(b.tid));
	CHECK(!cp_sweep_threads(&none));
	CHECK(cp_thread_of(b.tid) != NULL);
	bystander_end(&b);
	CHECK(!cp_thread_of(b.tid));
}

/* ---- a thread that registers itself when it is told to ---- */

static struct cp_thread *own;
static uint32_t may_enter;

static void *start(void *arg)
{
	sem_post(&entered);
	sem_wait(&done);
	return arg;
}

static void *newcomer(void *arg)
{
	tid = cp_sys_gettid();
	sem_post(&begun);
	/* It doesn't sleep before it enters. */
	while (!cp_load_acquire(&may_enter))
		cp_sys_yield();
	return cp_threads_entry(arg);
}

/* It goes as far as it can. */
static void let_it_enter(void)
{
	cp_store_release(&may_enter, 1);
	while (cp_load_acquire(&own->state) != CP_THREAD_LIVE && task_state(tid) != 'S')
		cp_sys_yield();
}

static uint32_t live_records_of(int of)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		n += cp_load_acquire(&t->state) == CP_THREAD_LIVE && t->tid == of;
	}
	return n;
}

static uint32_t timers_without_a_thread(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		n += cp_load_acquire(&t->state) != CP_THREAD_LIVE &&
		     cp_cpu_of(t)->timer != CP_NO_TIMER;
	}
	return n;
}

/* It enters at *PLACE, while the sweep, which saw it before, registers it. */
static void enter_at(void (**place)(void))
{
	struct bystander b;
	pthread_t thread;

	/* Where all announce themselves, the sweep looks at their number only. */
	bystander_begin(&b);
	CHECK(cp_sweep_threads(&none));
	CHECK(!cp_sweep_threads(&none));
	may_enter = 0;
	own = cp_threads_prepare(NULL, start, NULL);
	CHECK_EQ(pthread_create(&thread, NULL, newcomer, own), 0);
	sem_wait(&begun);
	CHECK(cp_sweep_threads(&none));
	*place = let_it_enter;
	cp_sweep_threads(&none);
	CHECK(!*place);
	sem_wait(&entered);
	CHECK_EQ(live_records_of(tid), 1);
	CHECK(cp_thread_of(tid) == own);
	CHECK_EQ(timers_without_a_thread(), 0);
	sem_post(&done);
	join(thread, &tid);
	bystander_end(&b);
}

TEST(test_a_thread_that_enters_while_it_is_registered_has_one_record)
{
	enter_at(&at_claim);
}

TEST(test_a_thread_that_enters_while_its_foreign_record_begins_leaves_no_timer)
{
	enter_at(&at_foreign_begin);
}

/* ---- a listing of /proc that ends early, as it does when the thread goes that it stands at ----
 */

/* In a thread of its own, which keeps the filter. */
static void *sweep_without_entries(void *swept)
{
	tid = cp_sys_gettid();
	*(bool *)swept = deny_call_as(SYS_getdents64, SECCOMP_RET_ERRNO);
	if (*(bool *)swept)
		cp_sweep_threads(&none);
	return NULL;
}

TEST(test_a_live_thread_that_is_not_listed_keeps_its_record)
{
	struct bystander b;
	pthread_t thread;
	bool swept = false;

	bystander_begin(&b);
	cp_sweep_threads(&none);
	cp_sweep_threads(&none);
	CHECK(cp_thread_of(b.tid) != NULL);
	CHECK_EQ(pthread_create(&thread, NULL, sweep_without_entries, &swept), 0);
	join(thread, &tid);
	CHECK(cp_thread_of(b.tid) != NULL);
	bystander_end(&b);
	CHECK(!cp_thread_of(b.tid));
	if (!swept)
		SKIP("no filter for system calls here");
}

/* A task of the profiler that got a record before it was known as such doesn't count as the
 * program's. */
TEST(test_a_thread_of_ours_loses_its_record)
{
	struct bystander b;
	struct cp_sweep_ours ours = none;

	bystander_begin(&b);
	cp_sweep_threads(&none);
	cp_sweep_threads(&none);
	CHECK(cp_thread_of(b.tid) != NULL);
	ours.tid[1] = b.tid;
	cp_sweep_threads(&ours);
	CHECK(!cp_thread_of(b.tid));
	bystander_end(&b);
}

/* ---- a fork while the sweep's lists move: what they had is gone, and they say nothing else yet.
 * Each in a child, which dies of what it still uses; unmapped, the place might be another's by then
 * ---- */

static void sweep_in_a_child(void)
{
	struct bystander b;

	cp_threads_fork_child();
	cp_sweep_fork_child();
	cp_sweep_tids_fork_child();
	bystander_begin(&b);
	cp_sweep_threads(&none);
	cp_sweep_threads(&none);
	_exit(!cp_thread_of(b.tid));
}

static void strangers_move(void)
{
	CHECK(strangers && strangers->items);
	mprotect(strangers->items, strangers->room * strangers->size, PROT_NONE);
}

static void tids_move(void)
{
	CHECK(tids && tids->slots);
	mprotect(tids->slots, tids->room * sizeof(*tids->slots), PROT_NONE);
}

static void check_fork_while(void (*move)(void))
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		move();
		sweep_in_a_child();
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

/* Both lists of strangers have memory. */
static void fill_lists(void)
{
	struct bystander b[2];

	for (int i = 0; i < 2; i++) {
		bystander_begin(&b[i]);
		CHECK(cp_sweep_threads(&none));
	}
	for (int i = 0; i < 2; i++)
		bystander_end(&b[i]);
}

TEST(test_a_fork_while_the_list_of_strangers_moves)
{
	fill_lists();
	check_fork_while(strangers_move);
}

TEST(test_a_fork_while_the_index_of_records_moves)
{
	fill_lists();
	check_fork_while(tids_move);
}

static const struct cp_mode_ops ops = { .name = "cpu",
					.thread_begin = cp_cpu_thread_begin,
					.thread_end = cp_cpu_thread_end };
static const struct cp_mode_ops *const modes[CP_MODES] = { [CPROF_CPU] = &ops };

int main(void)
{
	cp_mode_ops_set(modes);
	cp_real_resolve();
	sem_init(&begun, 0, 0);
	sem_init(&entered, 0, 0);
	sem_init(&done, 0, 0);
	cp_threads_register();
	CHECK_EQ(cp_cpu_start(1, CP_ENGINE_TIMER), 0);
	/* Nobody takes what a timer may say. */
	signal(SIGPROF, SIG_IGN);
	harness_all();
	cp_cpu_stop();
	return harness_end();
}
