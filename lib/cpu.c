/* Per-thread CPU timers; see cpu.h. */
#include "cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/time.h>

#include "log.h"
#include "real.h"
#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/counters.h"
#include "sigsafe/cpu_event.h"
#include "sigsafe/disposition.h"
#include "sigsafe/lock.h"
#include "sigsafe/sys.h"
#include "sigsafe/text.h"

/* 2^64 divided by the golden ratio. Successive multiples, modulo 2^64, fill the circle as
 * evenly as any sequence can (Knuth, TAOCP 3, 6.4), so the first expiries of n
 * threads are spread over the period: each by itself is uniform, which keeps short threads
 * unbiased, while together they hit n times as evenly as n independent draws. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* The kernel's clock id of a thread's CPU time: ~tid, "per thread", "scheduler". */
#define CPU_CLOCK_OF(tid) ((int)((~(unsigned)(tid) << 3) | 6u))

struct cp_cpu cp_cpu;

static struct cp_lock timers; /* creation and deletion; held for a few calls only */
static uint64_t phase;	      /* golden-ratio sequence, random start */
static uint64_t longest_tail; /* the most CPU time that a kernel tick may come late */
static bool failure_said;
static bool process_timer_lost; /* to the program, which uses it itself */

static void seed_phase(void)
{
	if (cp_sys3(SYS_getrandom, &phase, sizeof(phase), 1 /* GRND_NONBLOCK */) < 0) {
		struct timespec t;

		cp_sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
		phase = (uint64_t)t.tv_nsec * GOLDEN;
	}
}

/* In (0, period]. */
static uint64_t first_expiry(void)
{
	uint64_t p = cp_add_relaxed(&phase, GOLDEN);

	return 1 + (uint64_t)((__uint128_t)p * cp_cpu.period_ns >> 64);
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
}

/* CPU time of T so far. */
static uint64_t cpu_ns(const struct cp_thread *t)
{
	struct timespec now = { 0 };

	cp_sys2(SYS_clock_gettime, CPU_CLOCK_OF(t->tid), &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int create_timer(struct cp_thread *t)
{
	struct itimerspec when = { .it_interval = to_timespec(cp_cpu.period_ns) };
	struct sigevent event;
	int id = CP_NO_TIMER;
	long err;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = SIGPROF;
	event.sigev_value.sival_ptr = (void *)(uintptr_t)(CP_CPU_TAG | t->index);
	event._sigev_un._tid = t->tid;
	err = cp_sys3(SYS_timer_create, CPU_CLOCK_OF(t->tid), &event, &id);
	if (err < 0)
		return (int)err;
	t->first_due = cpu_ns(t) + first_expiry();
	t->expiries = 0;
	when.it_value = to_timespec(t->first_due);
	/* Before it runs: the handler takes only signals of the timer named here. */
	cp_store_release(&t->timer, id);
	cp_sys4(SYS_timer_settime, id, TIMER_ABSTIME, &when, NULL);
	return 0;
}

static void delete_timer(struct cp_thread *t)
{
	int id = cp_load_relaxed(&t->timer);

	if (id == CP_NO_TIMER)
		return;
	cp_store_relaxed(&t->timer, CP_NO_TIMER);
	cp_sys1(SYS_timer_delete, id);
}

static uint64_t process_cpu_ns(void)
{
	struct timespec t = { 0 };

	cp_sys2(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void set_process_timer(uint64_t period_ns)
{
	struct timeval period = { (time_t)(period_ns / 1000000000u),
				  (long)(period_ns % 1000000000u / 1000u) };
	struct itimerval when = { period, period };

	cp_sys3(SYS_setitimer, ITIMER_PROF, &when, NULL);
}

static void get_process_timer(struct itimerval *now)
{
	memset(now, 0, sizeof(*now));
	cp_sys2(SYS_getitimer, ITIMER_PROF, now);
}

static bool is_armed(const struct itimerval *t)
{
	return t->it_value.tv_sec || t->it_value.tv_usec;
}

static void say_program_has_it(void)
{
	if (!process_timer_lost)
		cp_log("the program uses ITIMER_PROF itself: threads without a timer of their own "
		       "are not sampled");
	process_timer_lost = true;
}

/* The last resort: one timer for the process, sampling the threads without one of their own. */
static void use_process_timer(void)
{
	struct itimerval now;

	if (cp_load_relaxed(&cp_cpu_state.process_timer) || process_timer_lost)
		return;
	get_process_timer(&now);
	if (is_armed(&now)) {
		say_program_has_it();
		return;
	}
	cp_store_relaxed(&cp_cpu_state.process_periods, process_cpu_ns() / cp_cpu.period_ns);
	cp_store_release(&cp_cpu_state.process_timer, 1);
	set_process_timer(cp_cpu.period_ns);
}

/* The program's own use of the process timer goes before ours, which then ends. */
bool cp_cpu_yield_process_timer(bool wanted)
{
	bool ours;

	cp_lock_acquire(&timers);
	ours = cp_load_relaxed(&cp_cpu_state.process_timer) != 0;
	if (ours && wanted) {
		cp_store_seqcst(&cp_cpu_state.process_timer, 0);
		set_process_timer(0);
		say_program_has_it();
	}
	cp_lock_release(&timers);
	return ours;
}

static void begin_locked(struct cp_thread *t)
{
	int err;

	if (!cp_load_relaxed(&cp_cpu_state.running) || t->timer != CP_NO_TIMER)
		return;
	cp_count(CP_COUNT_THREADS, 1);
	if (cp_cpu.itimer_only)
		return;
	err = create_timer(t);
	if (!err || err == -EINVAL /* the thread has just ended */)
		return;
	cp_count(CP_COUNT_TIMER_FAILURES, 1);
	if (!failure_said)
		cp_log("no CPU timer for a thread (%s; `ulimit -i` limits timers): threads "
		       "without one are sampled by the process-wide ITIMER_PROF",
		       cp_errno_text(err));
	failure_said = true;
	use_process_timer();
}

static int install_handler(void)
{
	struct sigaction act = { .sa_sigaction = cp_cpu_event_handler,
				 .sa_flags = cp_cpu_state.handler_flags };
	struct sigaction old;

	sigfillset(&act.sa_mask);
	if (CP_REAL(sigaction)(SIGPROF, &act, &old) < 0)
		return -errno;
	if (old.sa_sigaction != cp_cpu_event_handler) {
		struct cp_disposition d = { .handler = old.sa_handler, .flags = old.sa_flags };

		memcpy(&d.mask, &old.sa_mask, sizeof(d.mask));
		cp_disposition_set(SIGPROF, &d);
	}
	return 0;
}

void cp_cpu_check_handler(void)
{
	static bool said;
	struct sigaction now;

	if (said || !cp_load_relaxed(&cp_cpu_state.running) ||
	    CP_REAL(sigaction)(SIGPROF, NULL, &now) < 0)
		return;
	/* Ignored is what we ourselves make it for a moment before an exec. */
	if (now.sa_sigaction == cp_cpu_event_handler || now.sa_handler == SIG_IGN)
		return;
	said = true;
	cp_log("the program took SIGPROF's handler from us by a system call of its own (a Go "
	       "runtime does that): no samples from here on");
}

static void each_thread(void (*visit)(struct cp_thread *t))
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		if (cp_load_acquire(&t->state) == CP_THREAD_LIVE)
			visit(t);
	}
}

/* Not while libc itself blocks everything for a moment, which a program's call can't: 33 too. */
static bool blocks_prof(int tid)
{
	static const char key[] = "\nSigBlk:\t";
	char path[64], text[2048];
	uint64_t mask;
	long got;
	int fd;

	cp_format(path, sizeof(path), "/proc/self/task/%d/status", tid);
	fd = cp_sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return false;
	got = cp_sys_read(fd, text, sizeof(text) - 1);
	cp_sys_close(fd);
	text[got > 0 ? got : 0] = '\0';
	for (const char *p = text; p + sizeof(key) < text + got; p++) {
		const char *value = p + sizeof(key) - 1;

		if (memcmp(p, key, sizeof(key) - 1) == 0)
			return cp_parse_u64(&value, 16, &mask) == 0 &&
			       (mask & CP_SIGBIT(SIGPROF)) && !(mask & CP_SIGBIT(33));
	}
	return false;
}

static unsigned count_blocking(void)
{
	int self = cp_sys_gettid();
	unsigned n = 0;

	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		const struct cp_thread *t = cp_thread_at(i);
		int tid = cp_load_relaxed(&t->tid);

		if (cp_load_acquire(&t->state) == CP_THREAD_LIVE && tid != self && blocks_prof(tid))
			n++;
	}
	return n;
}

/* A thread that blocked SIGPROF before our view of the masks began: nobody but itself can change
 * that. Looked at twice, because a handler's mask may be in force for a moment. */
void cp_cpu_say_blocking(void)
{
	const struct timespec moment = { 0, 1000000 };
	unsigned n = count_blocking(), again;

	if (!n)
		return;
	cp_sys2(SYS_nanosleep, &moment, NULL);
	again = count_blocking();
	n = again < n ? again : n;
	if (n)
		cp_log("%u thread(s) block SIGPROF since before the start: they are not sampled",
		       n);
}

static uint64_t kernel_tick_ns(void)
{
	struct timespec tick = { 0 };

	cp_sys2(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &tick);
	return (uint64_t)tick.tv_sec * 1000000000u + (uint64_t)tick.tv_nsec;
}

int cp_cpu_start(unsigned frequency, bool itimer_only)
{
	int err = install_handler();

	if (err < 0)
		return err;
	cp_lock_acquire(&timers);
	cp_cpu = (struct cp_cpu){ frequency, 1000000000u / frequency, itimer_only };
	cp_cpu_state.period_ns = cp_cpu.period_ns;
	longest_tail = 4 * kernel_tick_ns() + cp_cpu.period_ns;
	process_timer_lost = false;
	seed_phase();
	/* Threads that begin from here on start their own timer; the loop finds the others. */
	cp_store_seqcst(&cp_cpu_state.running, 1);
	if (itimer_only)
		use_process_timer();
	each_thread(begin_locked);
	cp_lock_release(&timers);
	return 0;
}

void cp_cpu_stop(void)
{
	cp_lock_acquire(&timers);
	cp_store_seqcst(&cp_cpu_state.running, 0);
	if (cp_load_relaxed(&cp_cpu_state.process_timer))
		set_process_timer(0);
	cp_store_relaxed(&cp_cpu_state.process_timer, 0);
	each_thread(delete_timer);
	cp_lock_release(&timers);
}

void cp_cpu_thread_begin(struct cp_thread *t)
{
	cp_lock_acquire(&timers);
	begin_locked(t);
	cp_lock_release(&timers);
}

/* The kernel looks at a thread's timer when its tick finds the thread running. Expiries after the
 * last such tick, half a tick's time on average and more when threads share a CPU, would be lost,
 * and with them most of the time of short threads. What is more than a few ticks has another
 * reason, such as SIGPROF blocked behind our back, and stays unsampled. */
static uint64_t take_missed(struct cp_thread *t)
{
	uint64_t now = cpu_ns(t), due, missed, most = longest_tail / cp_cpu.period_ns;

	if (t->timer == CP_NO_TIMER || !cp_load_relaxed(&cp_cpu_state.running) ||
	    now < t->first_due)
		return 0;
	due = 1 + (now - t->first_due) / cp_cpu.period_ns;
	missed = due > t->expiries ? due - t->expiries : 0;
	return missed < most ? missed : most;
}

static void end_locked(struct cp_thread *t)
{
	uint64_t missed = cp_self.thread == t ? take_missed(t) : 0;

	delete_timer(t);
	if (!missed)
		return;
	cp_count(CP_COUNT_TAILS, missed);
	if (cp_load_relaxed(&t->paused))
		cp_count(CP_COUNT_LOST_PAUSED, missed);
	else
		cp_capture_repeat(t, &(struct cp_event){ CP_MODE_CPU, 1, missed, 0 },
				  (uint64_t)(uintptr_t)t->start);
}

void cp_cpu_thread_end(struct cp_thread *t)
{
	uint64_t all = CP_SIGSET_ALL, old;

	/* No sample of the process's timer in the midst of this one. */
	cp_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof(all));
	cp_lock_acquire(&timers);
	end_locked(t);
	cp_lock_release(&timers);
	cp_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
}

void cp_cpu_fork_child(struct cp_thread *t)
{
	cp_lock_reset(&timers);
	cp_store_relaxed(&cp_cpu_state.process_timer, 0);
	if (!cp_load_relaxed(&cp_cpu_state.running))
		return;
	if (cp_cpu.itimer_only)
		use_process_timer();
	else if (t)
		cp_cpu_thread_begin(t);
}

void cp_cpu_exec_begin(void)
{
	if (cp_load_relaxed(&cp_cpu_state.process_timer))
		set_process_timer(0);
}

void cp_cpu_exec_failed(void)
{
	if (cp_load_relaxed(&cp_cpu_state.process_timer))
		set_process_timer(cp_cpu.period_ns);
}
