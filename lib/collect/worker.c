/* SPDX-License-Identifier: BSD-3-Clause */
/* The collector's task with its own table of descriptors; see collect.h. */
#include "collect/collect.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <string.h>

#include "base/libc.h"

/* Heavy work runs on the collector's stack, see cp_collect_run. Only touched pages count. */
#define STACK_SIZE ((size_t)256 << 10)
/* Time limit of the wait. The kernel does not restart a wait with a time limit after a signal's
 * handler; it does restart one without. The limit is also how long a signal of libc may go
 * unnoticed if it came while the thread was not waiting. */
#define WAIT_SECONDS 1
#define GROUPS 64
/* Number of checks for a task that is about to end, and the naps between them. A real-time thread's
 * yield does not let an ordinary task run, so naps are needed. */
#define GONE_LOOKS 4000
#define GONE_NAP_NS 50000
#define GONE_YIELDS 100
#define KEPT 2048

/* clang-format off */
/* The request of the task to its thread; a futex.
 *
 * | state   | set by                             | then                                      |
 * |---------|------------------------------------|-------------------------------------------|
 * | NOTHING | the thread, when a line is written | the task goes on                          |
 * | LINE    | the task, which waits              | the thread writes what TEXT and SIZE say  |
 * | CALL    | the task, which waits              | the thread calls CALLED                   |
 * | UNFIT   | the task, as its last act          | the loop is run in the thread             |
 * | BACK    | the task, as its last act          | another task is made: credentials changed |
 * | DONE    | the task, as its last act          | the thread returns                        |
 */
/* clang-format on */
enum { NOTHING, LINE, CALL, UNFIT, BACK, DONE };
static uint32_t wish;
static const char *text;
static size_t size;
static void (*called)(void);

static uint32_t attached; /* a thread serves the task */
static uint32_t stale;
static uint32_t alive;	 /* the task's id; the kernel sets it, and clears it at its end */
static uint32_t last;	 /* the task's id, not cleared at its end */
static bool in_table;	 /* the task works in the program's table of descriptors */
static uint32_t leaving; /* a task is about to leave that table */
static uint32_t stays;	 /* no task may leave that table any more */
static char *stack;
static const struct cp_worker_work *work;

bool cp_worker_is_stale(void)
{
	return cp_load_acquire(&stale) != 0;
}

int cp_worker_tid(void)
{
	return (int)cp_load_relaxed(&alive);
}

bool cp_worker_has_own_table(void)
{
	return cp_sys_gettid() == cp_worker_tid() && !in_table;
}

static void want(uint32_t what)
{
	cp_store_release(&wish, what);
	cp_sys_futex_wake(&wish, 1);
}

/* Lines of a task without a thread, which a sandbox may keep from the program's descriptor. The
 * next thread of the program that collects writes them, at the end at the latest. */
static struct {
	struct cp_futex_lock lock;
	uint32_t size;
	char text[KEPT];
} kept;

static void keep_line(const char *t, size_t n)
{
	cp_futex_lock_acquire(&kept.lock);
	if (n <= KEPT - kept.size) {
		memcpy(kept.text + kept.size, t, n);
		cp_store_relaxed(&kept.size, kept.size + (uint32_t)n);
	}
	cp_futex_lock_release(&kept.lock);
}

void cp_worker_write_rest(void)
{
	int tid;

	if (!cp_load_relaxed(&kept.size))
		return;
	tid = cp_worker_tid();
	if ((tid && cp_sys_gettid() == tid) || !cp_futex_lock_try(&kept.lock))
		return;
	work->line(2, kept.text, kept.size);
	cp_store_relaxed(&kept.size, 0);
	cp_futex_lock_release(&kept.lock);
}

/* Return the program's descriptor 2 in the task's own table, or a negative errno. Filters of system
 * calls often kill for pidfd_getfd (systemd's @system-service does). */
static int borrow(void)
{
	int process =
		cp_sys_is_filtered() ? -EPERM : (int)cp_sys2(SYS_pidfd_open, cp_sys_getpid(), 0);
	int fd = process;

	if (process >= 0) {
		fd = (int)cp_sys3(SYS_pidfd_getfd, process, 2, 0);
		cp_sys_close(process);
	}
	return fd;
}

static void speak(const char *t, size_t n)
{
	int fd = in_table ? 2 : borrow();

	if (fd >= 0)
		work->line(fd, t, n);
	else if (fd != -EBADF) /* -EBADF: the program has no descriptor 2 */
		keep_line(t, n);
	if (fd >= 0 && !in_table)
		cp_sys_close(fd);
}

/* If the caller is the task, write the line, or keep it for cp_worker_write_rest, and return true.
 * Any context. */
static bool take_line(const char *t, size_t n)
{
	int tid = cp_worker_tid();

	if (!tid || cp_sys_gettid() != tid)
		return false;
	if (!cp_load_acquire(&attached)) {
		speak(t, n);
		return true;
	}
	text = t;
	size = n;
	want(LINE);
	while (cp_load_acquire(&wish) == LINE)
		cp_sys_futex_wait(&wish, LINE, NULL);
	return true;
}

void cp_worker_call(void (*f)(void))
{
	int tid = cp_worker_tid();

	if (!tid || cp_sys_gettid() != tid) {
		f();
		return;
	}
	if (!cp_load_acquire(&attached))
		return;
	called = f;
	want(CALL);
	while (cp_load_acquire(&wish) == CALL)
		cp_sys_futex_wait(&wish, CALL, NULL);
}

static void has_left(void)
{
	cp_store_seqcst(&leaving, 0);
	cp_sys_futex_wake(&leaving, 1);
}

/* Leave the program's table of descriptors, so that the task keeps none of the program's files
 * open; their other ends would wait for the task's close. The kernel copies the first 64
 * descriptors all the same, and closes the copies. Returns true if the task has left. */
static bool leave_table(void)
{
	bool left = !cp_load_seqcst(&stays) &&
		    cp_sys3(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) == 0;

	has_left();
	return left;
}

/* Wait for a task that is about to leave: after that it has no descriptor of the program to close.
 */
void cp_worker_stay_in_table(void)
{
	cp_store_seqcst(&stays, 1);
	while (cp_load_seqcst(&leaving))
		cp_sys_futex_wait(&leaving, 1, NULL);
}

static void task(void *unused)
{
	cp_sys_leave_realtime();
	cp_sys2(SYS_prctl, PR_SET_NAME, "cprof");
	cp_thread_own_begin();
	in_table = !leave_table();
	if (in_table && cp_load_acquire(&attached))
		want(UNFIT);
	else
		want(work->loop() ? DONE : BACK);
}

/* The calling thread's credentials, as far as libc's calls change them. */
struct credentials {
	uint32_t uid[3], gid[3], groups[GROUPS];
	struct __user_cap_data_struct capabilities[2];
	long count; /* number of groups; -EINVAL for more than GROUPS */
};

/* The credentials with which the task was made; also the thread's own. */
static struct credentials made_with;

static void read_credentials(struct credentials *c)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };

	memset(c, 0, sizeof(*c));
	cp_sys3(SYS_getresuid, &c->uid[0], &c->uid[1], &c->uid[2]);
	cp_sys3(SYS_getresgid, &c->gid[0], &c->gid[1], &c->gid[2]);
	cp_sys2(SYS_capget, &h, c->capabilities);
	c->count = cp_sys2(SYS_getgroups, GROUPS, c->groups);
}

static bool has_changed(void)
{
	struct credentials now;

	read_credentials(&now);
	return memcmp(&now, &made_with, sizeof(now)) != 0;
}

/* The flags that libc uses for a thread, except CLONE_SYSVSEM, which would give the program a list
 * of semaphores to undo, visible to kcmp. */
#define TASK_FLAGS                                                                                 \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |         \
	 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

/* Thread-local storage for a task without a libc thread.
 *
 * The pipeline runs in such a task (collect.h). Through the thread pointer it reads the profiler's
 * own variables, the stack protector's secret and, when demangling gives up on a name, the secret
 * of jump buffers; a libc function that fails writes errno. So this TLS has the layout of libc's
 * static TLS of a thread for these parts; the rest is zero. A debugger finds an empty thread
 * descriptor. There is no vector of dynamic TLS: no code in the task uses any
 * (tests/checks/tls.sh).
 *
 * Call in the thread that makes the task. One task uses the TLS at a time.
 */

#define PAGE ((uintptr_t)4096)
/* Room for libc's thread descriptor, on either side of the thread pointer: the descriptor has 2304
 * bytes in glibc 2.36. */
#define DESCRIPTOR ((uintptr_t)8192)

/* Distances from the thread pointer to the lowest and highest used byte. */
struct extent {
	uintptr_t below, above;
};

static void reach(struct extent *e, const char *tp, const void *variable, size_t bytes)
{
	const char *begin = variable, *end = begin + bytes;

	if (begin < tp && (uintptr_t)(tp - begin) > e->below)
		e->below = (uintptr_t)(tp - begin);
	if (end > tp && (uintptr_t)(end - tp) > e->above)
		e->above = (uintptr_t)(end - tp);
}

static char *map_tls(const char *tp)
{
	struct extent e = { DESCRIPTOR, DESCRIPTOR };
	char *memory;

	reach(&e, tp, &cp_self, sizeof(cp_self));
	reach(&e, tp, &errno, sizeof(errno));
	e.below = (e.below + PAGE - 1) & -PAGE;
	memory = cp_sys_map(e.below + e.above);
	return memory ? memory + e.below : NULL;
}

/* Return a thread pointer, with TLS as after the start of a thread; NULL if memory is exhausted. */
static void *task_tls_make(void)
{
	static char *made; /* the same for all threads, because they have the same layout */
	const char *tp = cp_thread_pointer();

	if (!made)
		made = map_tls(tp);
	if (!made)
		return NULL;
	memset(made + ((const char *)&cp_self - tp), 0, sizeof(cp_self));
	cp_thread_pointer_fill(made, tp, cp_libc_no_tls(made));
	return made;
}

/* Make the task. Returns its id, or a negative errno. */
static long make_task(void)
{
	uint64_t all = CP_SIGSET_ALL, mask;
	void *tls = task_tls_make();
	long tid;

	if (!stack)
		stack = cp_sys_map(STACK_SIZE);
	if (!stack || !tls)
		return -ENOMEM;
	cp_store_relaxed(&wish, NOTHING);
	cp_store_relaxed(&stale, 0);
	cp_sys_sigmask(SIG_SETMASK, &all, &mask);
	/* From here on, changes by libc's signal are seen before the first wait. */
	read_credentials(&made_with);
	cp_store_seqcst(&leaving, 1);
	/* Without CLONE_FILES the task would hold the program's files a second time until they are
	 * closed. */
	tid = cp_clone(TASK_FLAGS, stack + STACK_SIZE, task, NULL, &alive, tls);
	if (tid > 0)
		cp_store_relaxed(&last, (uint32_t)tid);
	else
		has_left();
	cp_sys_sigmask(SIG_SETMASK, &mask, NULL);
	return tid;
}

static void wait_for_wish(uint32_t seen)
{
	struct timespec limit = { WAIT_SECONDS, 0 };

	/* A signal between the check and the wait doesn't end the wait. */
	if (cp_worker_is_stale() || !has_changed()) {
		long err = cp_sys_futex_wait(&wish, seen, &limit);

		if (cp_worker_is_stale() || (err != -EINTR && !has_changed()))
			return;
	}
	cp_store_release(&stale, 1);
	work->wake();
}

/* Wait until the last task has ended, because the task uses its stack until then. The kernel wakes
 * this futex when the task ends, as a shared one, so the wait is shared, too. */
static void wait_until_dead(void)
{
	const struct timespec again = { WAIT_SECONDS, 0 };
	uint32_t id = cp_load_relaxed(&last);

	while (cp_load_acquire(&alive)) {
		cp_sys4(SYS_futex, &alive, FUTEX_WAIT, id, &again);
		/* The queue of signals may have been full when the task was to be woken. */
		work->wake();
	}
	cp_worker_wait_gone((int)id);
}

/* Wait for a task without a thread that has found itself the last. */
static void wait_for_another(void)
{
	if (cp_load_acquire(&alive))
		wait_until_dead();
}

/* Serve the task until it ends. Returns UNFIT, BACK or DONE. */
static uint32_t serve_task(void)
{
	uint32_t now;

	while ((now = cp_load_acquire(&wish)) <= CALL) {
		if (now == LINE) {
			work->line(2, text, size);
			want(NOTHING);
		} else if (now == CALL) {
			called();
			want(NOTHING);
		} else {
			wait_for_wish(now);
		}
	}
	wait_until_dead();
	return now;
}

void cp_worker_wait_gone(int tid)
{
	const struct timespec nap = { 0, GONE_NAP_NS };

	for (int i = 0; i < GONE_LOOKS; i++) {
		if (cp_sys3(SYS_tgkill, cp_sys_getpid(), tid, 0) < 0)
			return;
		if (i < GONE_YIELDS)
			cp_sys_yield();
		else
			cp_sys2(SYS_nanosleep, &nap, NULL);
	}
}

/* Make the table of descriptors as large as the profiler needs it, while no task shares it. The
 * kernel would otherwise wait for a grace period (10 ms) at the first file that a fork child
 * opens. Only on a program's thread: for a moment the lowest number is in use. */
static void widen_table(void)
{
	int fd = cp_sys_open("/", O_PATH, 0);

	if (fd >= 0)
		cp_sys_close(fd);
}

int cp_worker_begin(const struct cp_worker_work *w)
{
	long tid;

	work = w;
	cp_log_other_way = take_line;
	wait_for_another();
	cp_store_release(&attached, 0);
	widen_table();
	tid = make_task();
	return tid < 0 ? (int)tid : 0;
}

void cp_worker_end(void)
{
	wait_until_dead();
}

void cp_worker_run(const struct cp_worker_work *w)
{
	uint32_t end = BACK;

	work = w;
	cp_log_other_way = take_line;
	wait_for_another();
	cp_store_release(&attached, 1);
	while (end == BACK)
		end = make_task() > 0 ? serve_task() : UNFIT;
	if (end == UNFIT)
		w->loop();
}

void cp_worker_fork_child(void)
{
	cp_store_relaxed(&alive, 0);
	cp_store_relaxed(&leaving, 0);
	cp_store_relaxed(&stays, 0);
	cp_futex_lock_reset(&kept.lock);
	CP_FORK_CLEAR(&kept.size);
}
