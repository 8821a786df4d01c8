/* Start and stop of the CPU source, and which engine a thread gets; see cpu.h. */
#include "cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cpu_itimer.h"
#include "cpu_perf.h"
#include "cpu_timer.h"
#include "log.h"
#include "real.h"
#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/counters.h"
#include "sigsafe/cpu_event.h"
#include "sigsafe/disposition.h"
#include "sigsafe/lock.h"
#include "sigsafe/sys.h"
#include "sigsafe/wall_event.h"
#include "sigsafe/text.h"
#include "thread_timer.h"

struct cp_cpu cp_cpu;

static struct cp_lock timers; /* creation and deletion; held for a few calls only */
static bool failure_said, event_failure_said;

/* The program's own use of the process timer goes before ours, which then ends. */
bool cp_cpu_yield_process_timer(bool wanted)
{
	bool ours;

	cp_lock_acquire(&timers);
	ours = cp_cpu_itimer_yield(wanted);
	cp_lock_release(&timers);
	return ours;
}

static void begin_timer(struct cp_thread *t)
{
	int err = cp_cpu_timer_create(t);

	if (!err || err == -ESRCH /* the thread has just ended */)
		return;
	cp_count(CP_COUNT_TIMER_FAILURES, 1);
	if (!failure_said)
		cp_log("no CPU timer for a thread (%s%s): threads "
		       "without one are sampled by the process-wide ITIMER_PROF",
		       cp_errno_text(err), cp_thread_timer_advice(err));
	failure_said = true;
	cp_cpu_itimer_use();
}

/* In T's handler, which has T's clocks for itself. */
static void replace_event(struct cp_thread *t)
{
	cp_count(CP_COUNT_EVENT_FAILURES, 1);
	if (cp_cpu_timer_create(t) < 0)
		cp_count(CP_COUNT_TIMER_FAILURES, 1);
}

static bool begin_event(struct cp_thread *t)
{
	int err;

	if (!t->own_tls)
		return false;
	err = cp_cpu_perf_create(t);
	if (!err) {
		cp_count(CP_COUNT_EVENTS, 1);
		return true;
	}
	cp_count(CP_COUNT_EVENT_FAILURES, 1);
	if (!event_failure_said)
		cp_log("no perf event for a thread (%s): those without one have a timer",
		       cp_errno_text(err));
	event_failure_said = true;
	return false;
}

static void begin_locked(struct cp_thread *t)
{
	if (!cp_load_relaxed(&cp_cpu_state.running) || t->timer != CP_NO_TIMER ||
	    cp_cpu_perf_has(t))
		return;
	cp_count(CP_COUNT_THREADS, 1);
	if (cp_cpu.engine == CP_ENGINE_ITIMER)
		return;
	if (cp_cpu.engine != CP_ENGINE_PERF || !begin_event(t))
		begin_timer(t);
}

int cp_cpu_install_handler(void)
{
	struct sigaction act = { .sa_sigaction = cp_cpu_event_handler,
				 .sa_flags = cp_cpu_state.handler_flags };
	struct sigaction old;

	/* libc's own too, which sigfillset leaves out: see blocks_prof. */
	memset(&act.sa_mask, 0xff, sizeof(act.sa_mask));
	if (CP_REAL(sigaction)(SIGPROF, &act, &old) < 0)
		return -errno;
	if (old.sa_sigaction != cp_cpu_event_handler) {
		struct cp_disposition d = { .handler = old.sa_handler, .flags = old.sa_flags };

		memcpy(&d.mask, &old.sa_mask, sizeof(d.mask));
		cp_disposition_set(SIGPROF, &d);
	}
	return 0;
}

bool cp_cpu_has_handler(void)
{
	struct sigaction now;

	return CP_REAL(sigaction)(SIGPROF, NULL, &now) == 0 &&
	       now.sa_sigaction == cp_cpu_event_handler;
}

void cp_cpu_check_handler(void)
{
	static bool said;
	struct sigaction now;

	if (said ||
	    !(cp_load_relaxed(&cp_cpu_state.running) || cp_load_relaxed(&cp_wall_running)) ||
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

/* Not while a handler of ours, or libc where a thread begins or ends, blocks everything for a
 * moment, libc's own signals among them, 32 or 33: a program's call can't. */
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
			       (mask & CP_SIGBIT(SIGPROF)) &&
			       !(mask & (CP_SIGBIT(32) | CP_SIGBIT(33)));
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

		if (cp_load_acquire(&t->state) == CP_THREAD_LIVE && tid != self &&
		    !cp_load_acquire(&t->making) && blocks_prof(tid))
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

/* Engine and reason, from what was asked for. */
static void choose(enum cp_engine_choice wanted)
{
	const char *refusal = wanted == CP_ENGINE_PERF ? cp_cpu_perf_refusal() : NULL;

	cp_cpu.engine = wanted;
	cp_cpu.why = "asked for";
	if (wanted == CP_ENGINE_AUTO) {
		cp_cpu.engine = CP_ENGINE_TIMER;
		cp_cpu.why = "auto: it costs the program nothing between samples, and no call "
			     "returns EINTR for it";
	} else if (refusal) {
		cp_cpu.engine = CP_ENGINE_TIMER;
		cp_cpu.why = refusal;
		cp_log("CPROF_CPU_ENGINE=perf is not possible (%s); using timer", refusal);
	}
}

const char *cp_cpu_engine_name(void)
{
	if (cp_cpu.engine == CP_ENGINE_ITIMER)
		return "itimer (ITIMER_PROF of the process)";
	if (cp_cpu.engine == CP_ENGINE_PERF)
		return "perf (task clock event of each thread, kernel frames)";
	return cp_cpu_state.process_timer == CP_PROCESS_TIMER_OURS
		       ? "timer, and ITIMER_PROF for threads without one"
		       : "timer (POSIX timer of each thread)";
}

int cp_cpu_start(unsigned frequency, enum cp_engine_choice engine)
{
	int err = cp_cpu_install_handler();

	if (err < 0)
		return err;
	cp_lock_acquire(&timers);
	choose(engine);
	cp_cpu.frequency = frequency;
	cp_cpu.period_ns = 1000000000u / frequency;
	cp_cpu_state.period_ns = cp_cpu.period_ns;
	cp_cpu_state.perf_failed = replace_event;
	cp_cpu_timer_prepare();
	cp_cpu_itimer_prepare();
	/* Threads that begin from here on start their own clock; the loop finds the others. */
	cp_store_seqcst(&cp_cpu_state.running, 1);
	if (cp_cpu.engine == CP_ENGINE_ITIMER)
		cp_cpu_itimer_use();
	each_thread(begin_locked);
	cp_lock_release(&timers);
	return 0;
}

static void delete_clock(struct cp_thread *t)
{
	/* The event first: its handler may replace it by a timer. */
	cp_cpu_perf_delete(t);
	cp_cpu_timer_delete(t);
}

void cp_cpu_stop(void)
{
	cp_lock_acquire(&timers);
	cp_store_seqcst(&cp_cpu_state.running, 0);
	cp_cpu_itimer_stop();
	each_thread(delete_clock);
	cp_lock_release(&timers);
}

void cp_cpu_thread_begin(struct cp_thread *t)
{
	cp_lock_acquire(&timers);
	begin_locked(t);
	cp_lock_release(&timers);
}

static void end_locked(struct cp_thread *t)
{
	bool counts = cp_self.thread == t && cp_load_relaxed(&cp_cpu_state.running);
	uint64_t missed = counts ? cp_cpu_timer_missed(t) : 0;

	delete_clock(t);
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
	cp_store_relaxed(&cp_cpu_state.process_timer, CP_PROCESS_TIMER_NONE);
	if (!cp_load_relaxed(&cp_cpu_state.running))
		return;
	if (cp_cpu.engine == CP_ENGINE_ITIMER)
		cp_cpu_itimer_use();
	else if (t)
		cp_cpu_thread_begin(t);
}

void cp_cpu_exec_begin(void)
{
	cp_lock_acquire(&timers);
	cp_cpu_itimer_pause();
	if (cp_self.thread)
		cp_cpu_perf_delete(cp_self.thread);
	cp_lock_release(&timers);
}

void cp_cpu_exec_failed(void)
{
	cp_lock_acquire(&timers);
	cp_cpu_itimer_resume();
	if (cp_self.thread)
		begin_locked(cp_self.thread);
	cp_lock_release(&timers);
}
