/* The task with descriptors of its own; see worker.h. */
#include "worker.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "sigsafe/arch.h"
#include "sigsafe/atomic.h"
#include "sigsafe/heap_event.h"
#include "sigsafe/lock.h"
#include "sigsafe/sys.h"
#include "task_tls.h"

/* Heavy work is done on the collector's stack, see cp_collect_run; only touched pages count. */
#define STACK_SIZE ((size_t)256 << 10)
/* A wait with a time limit is not begun anew after a signal's handler, one without is. And it is
 * how long libc's signal may go unnoticed that came when the thread was not in its wait. */
#define WAIT_SECONDS 1
#define GROUPS 64
/* Looks for a task that is about to be gone, and the naps between them: to a real-time thread's
 * yield an ordinary task is nobody. */
#define GONE_LOOKS 4000
#define GONE_NAP_NS 50000
#define GONE_YIELDS 100
#define KEPT 2048

/* What the task wants of the thread: a futex.
 *
 * | state   | set by                            | then                                       |
 * |---------|-----------------------------------|--------------------------------------------|
 * | NOTHING | the thread, when a line is written | the task goes on                           |
 * | LINE    | the task, which waits             | the thread writes what TEXT and SIZE say   |
 * | UNFIT   | the task, as its last act         | the loop is run in the thread              |
 * | BACK    | the task, as its last act         | another task is made: credentials changed  |
 * | DONE    | the task, as its last act         | the thread returns                         | */
enum { NOTHING, LINE, UNFIT, BACK, DONE };
static uint32_t wish;
static const char *text;
static size_t size;

static uint32_t attended; /* a thread waits for wishes */
static uint32_t stale;
static uint32_t alive; /* the task's id; the kernel sets it, and clears it at its end */
static uint32_t last;  /* the same, but it stays */
static bool in_table;  /* it works in the program's table of descriptors */
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

static void want(uint32_t what)
{
	cp_store_release(&wish, what);
	cp_sys_futex_wake(&wish, 1);
}

/* Lines of a task without a thread, where a sandbox doesn't give it the program's descriptor: for a
 * thread of the program that comes by, at the end at the latest. */
static struct {
	struct cp_lock lock;
	uint32_t size;
	char text[KEPT];
} kept;

static void keep(const char *t, size_t n)
{
	cp_lock_acquire(&kept.lock);
	if (n <= KEPT - kept.size) {
		memcpy(kept.text + kept.size, t, n);
		cp_store_relaxed(&kept.size, kept.size + (uint32_t)n);
	}
	cp_lock_release(&kept.lock);
}

void cp_worker_write_rest(void)
{
	int tid;

	if (!cp_load_relaxed(&kept.size))
		return;
	tid = cp_worker_tid();
	if ((tid && cp_sys_gettid() == tid) || !cp_lock_try(&kept.lock))
		return;
	work->line(2, kept.text, kept.size);
	cp_store_relaxed(&kept.size, 0);
	cp_lock_release(&kept.lock);
}

/* The program's descriptor 2, in the task's own table; or a negative errno. */
static int borrow(void)
{
	int process = (int)cp_sys2(SYS_pidfd_open, cp_sys_getpid(), 0);
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
	else if (fd != -EBADF) /* the program has none */
		keep(t, n);
	if (fd >= 0 && !in_table)
		cp_sys_close(fd);
}

bool cp_worker_line(const char *t, size_t n)
{
	int tid = cp_worker_tid();

	if (!tid || cp_sys_gettid() != tid)
		return false;
	if (!cp_load_acquire(&attended)) {
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

/* Not one of the program's files is kept open by us: its other ends would wait for our close. */
static bool leave_table(void)
{
	return cp_sys3(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) == 0;
}

static void task(void *unused)
{
	(void)unused;
	cp_sys_leave_realtime();
	cp_sys2(SYS_prctl, PR_SET_NAME, "cprof");
	cp_heap_own_begin();
	in_table = !leave_table();
	if (in_table && cp_load_acquire(&attended))
		want(UNFIT);
	else
		want(work->loop() ? DONE : BACK);
}

/* Of the calling thread, as far as libc's calls change them. */
struct credentials {
	uint32_t uid[3], gid[3], groups[GROUPS];
	struct __user_cap_data_struct capabilities[2];
	long count; /* of groups; more than GROUPS: -EINVAL */
};

static struct credentials made_with; /* the task; the thread's own */

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

/* As libc would make a thread, so that no sandbox sees a difference. */
#define TASK_FLAGS                                                                                 \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |        \
	 CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

/* Its id, or a negative errno. */
static long make_task(void)
{
	uint64_t all = CP_SIGSET_ALL, mask;
	void *tls = cp_task_tls_make();
	long tid;

	if (!stack)
		stack = cp_sys_map(STACK_SIZE);
	if (!stack || !tls)
		return -ENOMEM;
	cp_store_relaxed(&wish, NOTHING);
	cp_store_relaxed(&stale, 0);
	cp_sys_sigmask(SIG_SETMASK, &all, &mask);
	/* What libc's signal changes from here on is seen before the first wait. */
	read_credentials(&made_with);
	/* Without CLONE_FILES the program's files would be held twice until they are closed. */
	tid = cp_clone(TASK_FLAGS, stack + STACK_SIZE, task, NULL, &alive, tls);
	if (tid > 0)
		cp_store_relaxed(&last, (uint32_t)tid);
	cp_sys_sigmask(SIG_SETMASK, &mask, NULL);
	return tid;
}

static void wait_for_wish(uint32_t seen)
{
	struct timespec limit = { WAIT_SECONDS, 0 };

	/* The signal can come between a look and the wait, which it then doesn't end. */
	if (cp_worker_is_stale() || !has_changed()) {
		long err = cp_sys_futex_wait(&wish, seen, &limit);

		if (cp_worker_is_stale() || (err != -EINTR && !has_changed()))
			return;
	}
	cp_store_release(&stale, 1);
	work->wake();
}

/* Its stack is in use until then. Shared: the kernel's own wake-up is. */
static void wait_until_dead(void)
{
	uint32_t id = cp_load_relaxed(&last);

	while (cp_load_acquire(&alive))
		cp_sys4(SYS_futex, &alive, FUTEX_WAIT, id, NULL);
	cp_worker_wait_gone((int)id);
}

/* A task begun without a thread, that has found itself the last. */
static void wait_for_another(void)
{
	if (cp_load_acquire(&alive))
		wait_until_dead();
}

/* UNFIT, BACK or DONE. */
static uint32_t attend(void)
{
	uint32_t now;

	while ((now = cp_load_acquire(&wish)) <= LINE) {
		if (now == LINE) {
			work->line(2, text, size);
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

int cp_worker_begin(const struct cp_worker_work *w)
{
	long tid;

	work = w;
	wait_for_another();
	cp_store_release(&attended, 0);
	tid = make_task();
	return tid < 0 ? (int)tid : 0;
}

void cp_worker_end(void)
{
	wait_until_dead();
}

void cp_worker_run(const struct cp_worker_work *w, bool adopt)
{
	uint32_t end = BACK;

	work = w;
	if (!adopt)
		wait_for_another();
	cp_store_release(&attended, 1);
	if (adopt)
		end = attend();
	while (end == BACK)
		end = make_task() > 0 ? attend() : UNFIT;
	if (end == UNFIT)
		w->loop();
}

void cp_worker_fork_child(void)
{
	cp_store_relaxed(&alive, 0);
	cp_lock_reset(&kept.lock);
	cp_store_relaxed(&kept.size, 0);
}
