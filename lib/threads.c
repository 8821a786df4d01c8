/* Registration of threads; see threads.h. */
#include "threads.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "collect.h"
#include "mode.h"
#include "sigsafe/atomic.h"
#include "sigsafe/counters.h"
#include "sigsafe/heap_event.h"
#include "sigsafe/held.h"
#include "sigsafe/labels.h"
#include "sigsafe/lock.h"
#include "sigsafe/pages.h"
#include "sigsafe/sys.h"
#include "sigsafe/text.h"
#include "sigsafe/wall_event.h"

extern void *__libc_stack_end; /* ld.so: where main's stack began */

static pthread_key_t end_key;
static pthread_once_t end_once = PTHREAD_ONCE_INIT;
static bool end_key_made;
static struct cp_thread *main_thread;
static uint32_t main_ended;
static uint32_t retired;
/* A thread is registered by the sweep, or by itself: held while one looks whether the other has,
 * until its own record is live. */
static struct cp_lock adoption;

/* Runs in every round of key destructors, but acts in the last one, so that
 * the work of the program's other destructors is still sampled. */
static void on_thread_end(void *record)
{
	struct cp_thread *t = record;

	if (cp_load_relaxed(&retired))
		return;
	if (++cp_self.end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS &&
	    pthread_setspecific(end_key, record) == 0)
		return;
	cp_modes_thread_end(t);
	cp_sys2(SYS_prctl, PR_GET_NAME, t->name);
	t->named = true;
	cp_self.thread = NULL;
	if (t == main_thread)
		cp_store_release(&main_ended, 1);
	if (t->ring || t->hook_ring || t->labels) {
		cp_store_release(&t->state, CP_THREAD_ENDED);
		cp_collect_request(CP_REQUEST_DRAIN);
	} else if (t->wall.began) {
		/* The pacer gives it its time, within a period. */
		cp_store_release(&t->state, CP_THREAD_ENDED);
		cp_wall_thread_ended();
		if (!cp_collect_alive())
			cp_collect_request(CP_REQUEST_DRAIN);
	} else {
		cp_thread_free(t);
	}
	if (cp_load_acquire(&main_ended))
		cp_collect_request(CP_REQUEST_CHECK_END);
}

static void make_end_key(void)
{
	end_key_made = pthread_key_create(&end_key, on_thread_end) == 0;
}

static void arm_end(struct cp_thread *t)
{
	pthread_once(&end_once, make_end_key);
	/* libc may allocate for that. */
	cp_heap_own_begin();
	if (end_key_made)
		pthread_setspecific(end_key, t);
	cp_heap_own_end();
}

/* Bounds of a thread's stack, without /proc. libc puts the control block at the top of a
 * thread's stack, so pthread_self() is its high end. The low end is taken a little too
 * high: what is below it is read with a probe, whereas a bound that reached into
 * the next mapping would let us read through its guard page. */
#define STACK_SLACK ((uint64_t)64 << 10)
#define MAIN_STACK_MAX ((uint64_t)64 << 20)

static void set_main_bounds(struct cp_thread *t)
{
	uint64_t size = MAIN_STACK_MAX;
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < size)
		size = limit.rlim_cur;
	t->stack_high = (uint64_t)(uintptr_t)__libc_stack_end + sizeof(void *);
	t->stack_low = t->stack_high - size;
}

static void set_bounds(struct cp_thread *t, uint64_t size)
{
	t->stack_high = (uint64_t)pthread_self();
	t->stack_low = size > 2 * STACK_SLACK ? t->stack_high - size + STACK_SLACK
					      : t->stack_high - size / 2;
}

static uint64_t stack_size_of(const pthread_attr_t *attr)
{
	pthread_attr_t standard;
	size_t size = 0;

	if (attr)
		return pthread_attr_getstacksize(attr, &size) == 0 ? size : 0;
	if (pthread_getattr_default_np(&standard) == 0) {
		pthread_attr_getstacksize(&standard, &size);
		pthread_attr_destroy(&standard);
	}
	return size;
}

/* For a thread that wasn't made by us; libc knows. Stays unknown if it doesn't. */
static void set_known_bounds(struct cp_thread *t)
{
	pthread_attr_t attr;
	size_t size;
	void *low;

	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	if (pthread_attr_getstack(&attr, &low, &size) == 0) {
		t->stack_low = (uint64_t)(uintptr_t)low;
		t->stack_high = t->stack_low + size;
	}
	pthread_attr_destroy(&attr);
}

struct cp_thread *cp_threads_prepare(const pthread_attr_t *attr, void *(*start)(void *),
				     void *argument)
{
	struct cp_thread *t = cp_load_relaxed(&retired) ? NULL : cp_thread_claim();

	if (!t)
		return NULL;
	t->start = start;
	t->argument = argument;
	t->stack_size = stack_size_of(attr);
	if (cp_self.thread && cp_self.thread->labels && cp_self.thread->labels->inherit)
		t->labels = cp_labels_clone(cp_self.thread->labels);
	return t;
}

/* The sweep may have met this thread, NEW, before it could register itself. */
static void end_foreign_twin(struct cp_thread *new, int tid)
{
	struct cp_thread *t;

	if (!cp_counted(CP_COUNT_FOREIGN_THREADS))
		return;
	t = cp_thread_of(tid);
	if (!t || !t->foreign)
		return;
	cp_store_relaxed(&new->paused, cp_load_relaxed(&t->paused));
	cp_modes_thread_end(t);
	cp_store_release(&t->state, CP_THREAD_ENDED);
}

void cp_threads_adopt(void)
{
	bool ended = cp_self.end_rounds >= PTHREAD_DESTRUCTOR_ITERATIONS;
	struct cp_thread *t = cp_self.thread || ended ? NULL : cp_thread_claim();

	/* Once more after its end, in a later key's destructor, nothing would end the record. */
	if (!t)
		return;
	if (cp_sys_gettid() == cp_sys_getpid()) {
		main_thread = t;
		set_main_bounds(t);
	} else {
		set_known_bounds(t);
	}
	cp_lock_acquire(&adoption);
	end_foreign_twin(t, cp_sys_gettid());
	cp_thread_enter(t);
	cp_lock_release(&adoption);
	arm_end(t);
	/* What the thread itself blocked so far is known; what it inherited isn't. */
	cp_held_set_blocked(cp_held_blocked());
	cp_held_adopt();
	cp_modes_thread_begin(t);
}

static void enter(struct cp_thread *t)
{
	if (cp_load_relaxed(&retired))
		return;
	set_bounds(t, t->stack_size);
	end_foreign_twin(t, cp_sys_gettid());
	cp_thread_enter(t);
	arm_end(t);
	cp_held_adopt();
	cp_modes_thread_begin(t);
}

void *cp_threads_entry(void *record)
{
	struct cp_thread *t = record;
	void *(*start)(void *) = t->start;
	void *argument = t->argument;

	enter(t);
	return start(argument);
}

typedef void *(*start_function)(void *);
typedef int (*c11_start_function)(void *);

struct cp_thread *cp_threads_prepare_c11(int (*start)(void *), void *argument)
{
	return cp_threads_prepare(NULL, (start_function)(void (*)(void))start, argument);
}

int cp_threads_entry_c11(void *record)
{
	struct cp_thread *t = record;
	c11_start_function start = (c11_start_function)(void (*)(void))t->start;
	void *argument = t->argument;

	enter(t);
	return start(argument);
}

/* Calls VISIT for each thread id of the process. 0 or a negative errno. */
static int each_task(int (*visit)(int tid, void *context), void *context)
{
	char buffer[4096] __attribute__((aligned(8)));
	int fd = cp_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0), stop = 0;
	long got = 0;

	if (fd < 0)
		return fd;
	while (!stop && (got = cp_sys3(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0)
		for (long at = 0; at < got && !stop;) {
			const char *entry = buffer + at, *name = entry + 19;
			uint16_t length;
			uint64_t tid;

			memcpy(&length, entry + 16, sizeof(length));
			at += length;
			if (!cp_parse_u64(&name, 10, &tid) && !*name)
				stop = visit((int)tid, context);
		}
	cp_sys_close(fd);
	return got < 0 ? (int)got : stop;
}

struct sweep {
	int skip;
	uint32_t tasks, records, foreign;
};

/* Threads without a record in the sweep before. Only at a second sight they count as foreign: at
 * the first they may be about to register themselves. */
static struct cp_vec strangers = { .size = sizeof(int) }, new_strangers = { .size = sizeof(int) };

static bool seen_before(int tid)
{
	for (size_t i = 0; i < strangers.count; i++)
		if (*CP_VEC_AT(&strangers, int, i) == tid)
			return true;
	return false;
}

static int note_stranger(int tid)
{
	int *slot = cp_vec_add(&new_strangers);

	if (!slot)
		return -ENOMEM;
	*slot = tid;
	return 0;
}

static int count_task(int tid, void *context)
{
	struct sweep *s = context;

	s->tasks += tid != s->skip;
	return 0;
}

static int see_task_locked(int tid)
{
	struct cp_thread *t = cp_thread_of(tid);

	if (t) {
		t->seen = true;
		return 0;
	}
	if (!seen_before(tid))
		return note_stranger(tid);
	t = cp_thread_claim();
	if (!t)
		return -ENOMEM;
	t->foreign = t->seen = true;
	cp_store_relaxed(&t->tid, tid);
	cp_store_release(&t->state, CP_THREAD_LIVE);
	cp_count(CP_COUNT_FOREIGN_THREADS, 1);
	cp_modes_thread_begin(t);
	return 0;
}

static int see_task(int tid, void *context)
{
	struct sweep *s = context;
	int err;

	/* Main, when it has ended, stays as a zombie. */
	if (tid == s->skip || (cp_threads_main_ended() && tid == cp_sys_getpid()))
		return 0;
	cp_lock_acquire(&adoption);
	err = see_task_locked(tid);
	cp_lock_release(&adoption);
	return err;
}

/* Only foreign records end here: a thread with a record of its own ends it itself, and may
 * be seen in /proc a little before or after that. */
static void end_unseen(void)
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		if (cp_load_acquire(&t->state) != CP_THREAD_LIVE || !t->foreign || t->seen)
			continue;
		cp_modes_thread_end(t);
		cp_store_release(&t->state, CP_THREAD_ENDED);
	}
}

static void count_records(struct sweep *s)
{
	s->records = s->foreign = 0;

	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		/* A claimed record is a thread that is just starting. */
		if (cp_load_relaxed(&t->state) == CP_THREAD_LIVE ||
		    cp_load_relaxed(&t->state) == CP_THREAD_CLAIMED) {
			s->records++;
			s->foreign += t->foreign;
		}
		t->seen = false;
	}
}

/* Threads of the process by the links of their directory: two, and one of each. */
static int count_tasks(struct sweep *s)
{
	struct stat st;
	long err = cp_sys4(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0);

	/* An emulator of the kernel may have no count there. */
	if (err < 0 || st.st_nlink < 3)
		return each_task(count_task, s);
	s->tasks = (uint32_t)st.st_nlink - 2 - (s->skip != 0);
	return 0;
}

/* Numbers tell enough where every thread announces itself; of foreign threads, one may have
 * taken another's place. */
static bool nothing_new(struct sweep *s)
{
	count_records(s);
	return count_tasks(s) < 0 || (!s->foreign && s->tasks == s->records);
}

bool cp_threads_sweep(int skip)
{
	struct sweep s = { .skip = skip };
	struct cp_vec swap = strangers;

	if (nothing_new(&s))
		return false;
	new_strangers.count = 0;
	if (each_task(see_task, &s) == 0)
		end_unseen();
	strangers = new_strangers;
	new_strangers = swap;
	return strangers.count > 0;
}

bool cp_threads_main_ended(void)
{
	return cp_load_acquire(&main_ended) != 0;
}

/* The state letter of a task: 'R', 'S', 'Z', ...; 'X' when it is gone. */
static char task_state(int tid)
{
	char path[64], text[512], *p;
	long got;
	int fd;

	cp_format(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = cp_sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return 'X';
	got = cp_sys_read(fd, text, sizeof(text) - 1);
	cp_sys_close(fd);
	text[got > 0 ? got : 0] = '\0';
	/* The name, in parentheses, may hold anything; the state follows the last one. */
	p = strrchr(text, ')');
	return p && p[1] == ' ' ? p[2] : 'X';
}

static int is_alive(int tid, void *context)
{
	const struct sweep *s = context;
	char state;

	if (tid == s->skip)
		return 0;
	state = task_state(tid);
	return state != 'Z' && state != 'X';
}

bool cp_threads_all_gone(int skip)
{
	struct sweep s = { .skip = skip };

	return each_task(is_alive, &s) == 0;
}

bool cp_threads_alone(void)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		uint32_t state = cp_load_acquire(&cp_thread_at(i)->state);

		n += state == CP_THREAD_LIVE || state == CP_THREAD_CLAIMED;
	}
	return n <= 1;
}

void cp_threads_fork_child(void)
{
	cp_lock_reset(&adoption);
	main_thread = cp_self.thread;
	main_ended = 0;
	strangers.count = 0;
	cp_thread_fork_child(cp_self.thread);
}

void cp_threads_retire(void)
{
	cp_store_relaxed(&retired, 1);
}
