/* The signals that we handle for the program, and its view of them.
 *
 * SIGPROF, the dump and the toggle signal, and every signal whose default action ends
 * the process (so that a profile is left). Ours is in the kernel only while the program's own
 * disposition is the default (SIGPROF: always, from the first start on).
 *
 * Alternate stacks: our handlers use them (Go insists), unless one that the program sets up has no
 * room for a handler; and while a handler of the program's runs on one, SIGPROF is blocked, because
 * it may have room for one signal's frame but not for two.
 */
#ifndef CP_SIGNALS_H
#define CP_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Install the handlers; 0 = no such signal. Ordinary context. */
void cp_signals_install(int dump_signal, int toggle_signal, int heap_signal);
/* Put back the defaults (SIGPROF's handler stays, inert). */
void cp_signals_remove(void);

/* sigaction as the program means it: it never sees or removes what is ours. Async-signal-safe, as
 * sigaction must be. 0, or -1 with errno. */
int cp_signals_sigaction(int sig, const struct sigaction *act, struct sigaction *old);

/* SIG's handler in the kernel is one of ours. Async-signal-safe. */
bool cp_signals_are_ours(int sig);

/* A handler of the program's for one of SIGNALS (kernel form) may have run by now: there is one, or
 * was. False is sure, unless it came to the kernel past libc and is there no more.
 * Async-signal-safe.
 */
bool cp_signals_may_have_run(uint64_t signals);

/* The program is about to set an alternate stack of SIZE bytes. */
void cp_signals_alternate_stack(size_t size);
/* This thread is on an alternate stack. Async-signal-safe. */
bool cp_signals_on_alternate(void);

/* How often the toggle signal came since the last call. */
unsigned cp_signals_toggles(void);

/* As cp_cpu_yield_process_timer. */
bool cp_signals_yield_process_timer(bool wanted);

/* Around exec and posix_spawn: what is ours in this thread and process, and is inherited, is as
 * the program believes it to be. */
void cp_signals_exec_begin(void);
void cp_signals_exec_failed(void);
void cp_signals_fork_child(void);

#endif
