/* The event half of the CPU source: SIGPROF, from a thread's timer or not. */
#ifndef CP_CPU_EVENT_H
#define CP_CPU_EVENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

struct cp_thread;

/* ITIMER_PROF, for threads without a timer of their own. */
enum cp_process_timer {
	CP_PROCESS_TIMER_NONE,
	CP_PROCESS_TIMER_OURS,
	CP_PROCESS_TIMER_LATE, /* it was ours: a hit may still be on its way */
};

/* Somebody has set it. Any context. */
bool cp_process_timer_is_armed(void);

/* Written by the control half (cpu.c), read by the handler. */
struct cp_cpu_state {
	uint32_t running;	/* samples are taken */
	uint32_t process_timer; /* enum cp_process_timer */
	uint32_t perf_used;	/* since the start of the process: signals of perf's may come */
	int handler_flags;	/* SA_* of SIGPROF's handler: signals.c */
	/* Of ProfilerStartWithOptions: 0 leaves a sample out. NULL: none. */
	int (*filter)(void *argument);
	void *filter_argument;
	uint64_t period_ns;
	uint64_t process_periods; /* of the process's CPU time, at the process timer's last hit */
	void (*die)(int sig, siginfo_t *si,
		    void *uc); /* default action of a SIGPROF that isn't ours */
	/* A thread's event could not be made anew: another clock for it. Its handler. */
	void (*perf_failed)(struct cp_thread *t);
};
extern struct cp_cpu_state cp_cpu_state;

/* A timer's signal names its thread record: this tag above the index. */
#define CP_CPU_TAG UINT64_C(0x6370726f66000000) /* "cprof" */
#define CP_CPU_TAG_MASK UINT64_C(0xffffffffff000000)

/* SI was taken out of what is pending for this thread, libc's, with all signals blocked. True: it
 * was ours, and is a sample of UC. */
bool cp_cpu_event_take(const siginfo_t *si, const ucontext_t *uc);

/* SA_SIGINFO handler, installed with handler_flags and a full mask. */
void cp_cpu_event_handler(int sig, siginfo_t *si, void *uc);

#endif
