/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/host/, by the file that implements them. */
#ifndef CP_HOST_HOST_H
#define CP_HOST_HOST_H

#include "base/sys.h"
#include "host/signal/host_signal.h"
#include "settings/settings.h"

/* chained.c
 *
 * Signal chaining: the kernel calls a handler of the profiler, which then calls the program's
 * handler.
 *
 * Chaining is needed where the process may end after the program's handler without further notice:
 *
 * - Handlers for one call (SA_RESETHAND) of a signal whose default action ends the process. The
 *   kernel sets the disposition to the default as it calls such a handler. Programs that clean up
 *   in the handler and raise the signal again are then gone. The profiler's handler instead
 *   installs its own handler for the default case, and then calls the program's.
 * - Handlers for SIGABRT. When one returns, abort() ends the process by libc's own means. The
 * profile is written before such a handler runs.
 *
 * Chaining is also needed where samples need room:
 *
 * - Handlers with SA_ONSTACK (host/signal/host_signal.h). All signals are blocked until the
 * profiler's handler has made room.
 *
 * The disposition table holds the program's handler. The kernel does not know that handler.
 */

/* Callbacks into signals.c. */
struct cp_chained_hooks {
	/* Set SIG to its default in the kernel and in the table, unless the kernel meanwhile has a
	 * handler that is not the profiler's. */
	void (*put_default)(int sig);
	/* Return what handles the default action of SIG: it ends the process, or does nothing. */
	void (*(*default_of)(int sig))(int sig, siginfo_t *si, void *context);
	/* Write the profile: the process may be about to end. */
	void (*write)(void);
	/* Return true if the table belongs to this process; false in the child of a vfork. */
	bool (*is_ours)(void);
};

/* Set the callbacks. Call before any other function of this file. */
void cp_chained_begin(const struct cp_chained_hooks *h);

/* Return true if ACT must be chained because the process may end after its handler. The default
 * action of SIG ends the process. Any context. */
bool cp_chained_wants(int sig, const struct sigaction *act);
/* Return true if ACT, for any signal, must be chained so that samples by SIGPROF have room. Any
 * context. */
bool cp_chained_wants_room(const struct sigaction *act);
/* Fill *OURS with the disposition that the kernel gets in place of ACT. ACT is in the table. Any
 * context. */
void cp_chained_fill(struct sigaction *ours, int sig, const struct sigaction *act);
/* Return true if ACT, read from the kernel, is a chained handler. Any context. */
bool cp_chained_is(const struct sigaction *act);

/* disposition_view.c
 *
 * Conversions between libc's dispositions and those in the table (host/signal/host_signal.h).
 */

/* Convert ACT, which the kernel has. */
void cp_disposition_view_take(struct cp_disposition *d, const struct sigaction *act);
/* Convert ACT, which the program sets, to the form that the kernel keeps. */
void cp_disposition_view_keep(struct cp_disposition *d, const struct sigaction *act);
/* Convert back. */
void cp_disposition_view_fill(struct sigaction *act, const struct cp_disposition *d);
/* Set *ACT to the program's view of SIG, where the kernel has the profiler's handler. Any context.
 */
void cp_disposition_view_get(int sig, struct sigaction *act);

/* Requests that signals make of the session. Every function may be called in a signal handler. */

struct cp_signal_work {
	/* Dump MODE; CP_MAIN_MODES: every mode that is on. */
	void (*dump)(unsigned mode);
	/* Turn the mode of CPUPROFILE on or off. */
	void (*toggle)(void);
	/* Write the profiles: abort may be about to end the process. */
	void (*write)(void);
	/* Write the profiles: a signal ends the process. CRASH: it dumps core. */
	void (*end)(bool crash);
	/* Called if the process goes on after END. */
	void (*go_on)(void);
};

/* fatal.c
 *
 * Handles signals whose default action ends the process: the profiles are written before it
 * ends.
 */

/* Returns the signals that end process PID by default and can have the profiler's handler, as a
 * kernel signal set. Pure. */
uint64_t cp_fatal_signals(int pid);

/* Set what writes the profiles. Call before the handler is installed. */
void cp_fatal_begin(const struct cp_signal_work *w);

/* The handler. It writes the profiles and ends the process by SIG's default action, with the same
 * siginfo. It returns in two cases. First, the kernel ignores the default action, because this
 * process is pid 1 of a namespace or another thread has just changed SIG's action. Second, a fault
 * has to happen again. */
void cp_fatal_handler(int sig, siginfo_t *si, void *context);

/* Returns at once, unless another thread is about to end the process by a signal. Without the
 * profiler the caller would not have come so far, so it waits for that end, but not for long once
 * the profile is written: that thread may be gone alone. */
void cp_fatal_await(void);

/* fork_mark.c
 *
 * Tell whether this memory is a copy that an unannounced fork made. No fork handler runs in a child
 * that clone() makes as fork would. A child that shares the memory, such as a vfork's, sees the
 * same mark as the parent.
 */

/* Make the mark in this process's memory. Call at each start, and in the child of a known fork.
 * Ordinary context. */
void cp_fork_mark_set(void);
/* Announce (true) that a known fork is about to copy the memory or has copied it. The announcement
 * holds in the child until cp_fork_mark_set, whatever other fork handlers do there first. */
void cp_fork_mark_expect(bool fork);
/* Return true if the mark was set and the memory was then copied without an announcement.
 * Async-signal-safe. */
bool cp_fork_mark_is_gone(void);
/* Return true if the mark is there: this memory is no copy. Async-signal-safe. */
bool cp_fork_mark_is_there(void);

/* handler_mask.c
 *
 * The masks of the program's handlers, where the kernel's mask differs from the one that the
 * program set.
 *
 * - A handler on an alternate stack has SIGPROF blocked if an alternate stack of the program is so
 *   small that it has room for one frame only. On other alternate stacks the profiler makes room
 *   for samples when the handler is called (chained.c).
 * - A handler that blocks CP_DEFERRED_MARKER but not SIGPROF runs without the marker blocked. The
 *   mask would otherwise say that the program blocks SIGPROF (host/signal/host_signal.h).
 */

/* The state of one call of sigaction. */
struct cp_handler_mask {
	struct sigaction changed;
	bool adds_prof, removes_marker;
	bool had_prof_added, had_marker_removed;
};

/* Return true if ACT has a handler of the program, not SIG_DFL or SIG_IGN. */
bool cp_handler_mask_is_handler(const struct sigaction *act);

/* Return true if ACT, for SIG, is what the kernel gets, and so was the disposition before.
 * Async-signal-safe. */
bool cp_handler_mask_is_plain(int sig, const struct sigaction *act);

/* Return the disposition that the kernel gets for SIG (1 to 64): ACT itself (may be NULL), or
 * m->changed. If OURS is false (the process is not the session's, or SIGPROF is not the
 * profiler's), return ACT. Async-signal-safe.
 */
const struct sigaction *cp_handler_mask_begin(struct cp_handler_mask *m, int sig,
					      const struct sigaction *act, bool ours);
/* Call when sigaction has succeeded. Changes OLD (or NULL) to what the program had set. KEEPS:
 * remember what was set. Async-signal-safe. */
void cp_handler_mask_end(const struct cp_handler_mask *m, int sig, bool keeps,
			 struct sigaction *old);

/* Block SIGPROF in ACT, the handler of SIG, which now goes into the kernel. Async-signal-safe. */
void cp_handler_mask_block_prof(int sig, struct sigaction *act);

/* Return true if the profiler has ever blocked SIGPROF in a handler. */
bool cp_handler_mask_any_prof(void);

/* Return true if a handler may run with SIGPROF blocked in the kernel, because of its own mask or
 * the profiler's. Otherwise SIGPROF is never blocked there. */
bool cp_handler_mask_any_hides(void);
/* Note that such a handler exists. */
void cp_handler_mask_hidden(void);

/* handler_stack.c
 *
 * Which stack the profiler's handlers use.
 *
 * They use alternate stacks (Go insists), with three exceptions: an alternate stack that has no
 * room for a handler, one that several threads share, where handlers would overwrite each other's
 * frames, and one that another thread than its owner makes unwritable, because nobody can give its
 * owner a better one. An alternate stack on which a handler of the program runs may have room for
 * one signal's frame but not for two: host/signal/host_signal.h.
 */

/* Return the flags for a handler of the profiler. Any context. */
int cp_handler_stack_flags(int sig);
/* Return true once an alternate stack of the program had no room for a handler, or was made
 * unwritable by another thread. Any context. */
bool cp_handler_stack_is_useless(void);
/* Return true if this thread is on an alternate stack. Async-signal-safe. */
bool cp_handler_stack_is_alternate(void);

/* Check the calling thread's alternate stack, which has changed. Returns what speaks against it and
 * was not yet reported by cp_handler_stack_left; 0 if nothing does. If not 0, put the new flags
 * into the kernel, and then call cp_handler_stack_left with the result. Async-signal-safe. */
uint32_t cp_handler_stack_look(void);
/* The same before the calling thread makes another one's alternate stack unwritable. */
uint32_t cp_handler_stack_taken(void);
void cp_handler_stack_left(uint32_t why);
/* Then wait until T, that other thread, is in no handler that the kernel called with the old flags:
 * it sleeps, or has run longer than a handler does. After a second without that, T is as good as
 * stopped. */
void cp_handler_stack_await(struct cp_thread *t);

/* Common definitions for the files that replace functions of libc.
 *
 * An interposed function is exported without a version, so it answers every version of the
 * reference. It forwards to CP_REAL(name) and adds as little as possible.
 */

#define INTERPOSE __attribute__((visibility("default")))

/* Declared by <unistd.h> since glibc 2.34. */
int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags);

/* Call when the program makes a thread (preload/init.c). */
void init_watch_exit(void);
/* Call in the constructor, before the session begins (new.c, namespace.c). The loader's
 * allocations for them are then in no profile. */
void init_operators(void);
void init_credentials(void);

/* mask_view.c
 *
 * Signal masks: SIGPROF stays deliverable whatever the program blocks, and the program reads back
 * the mask that it set.
 *
 * Threads that block all signals are common (workers of a server with a signal thread). They are
 * sampled too.
 */

/* sigprocmask on the program's view of the mask. Returns 0, or -1 with errno. Async-signal-safe. */
int cp_mask_view_change(int how, const sigset_t *set, sigset_t *old);
/* pthread_sigmask, the same. Returns 0 or an error number. */
int cp_mask_view_change_thread(int how, const sigset_t *set, sigset_t *old);

/* sigsuspend on the program's view of the mask. */
int cp_mask_view_suspend(const sigset_t *mask);

/* sigpending, including a deferred SIGPROF. */
int cp_mask_view_pending(sigset_t *set);

/* sigtimedwait; with TIMEOUT NULL, sigwaitinfo. Never returns the signal of one of the profiler's
 * timers. Returns EINTR only if a handler of the program may have run. */
int cp_mask_view_wait(const sigset_t *set, siginfo_t *si, const struct timespec *timeout);

/* process_tree.c
 *
 * Which process writes which file. The process that was started with the variable owns the name;
 * every other process writes NAME.PID.
 *
 * The exec wrappers add a variable to the environment of the new program. The constructor there
 * reads the variable and removes it before the program can see it. Where a process was started
 * without the wrappers (system, popen), its parent is examined.
 */

#define CP_PROCESS_TREE_VARIABLE "_CPROF_LINEAGE"

struct cp_process_tree {
	bool owner;
	bool subreaper;		/* orphans become children of this process */
	bool execed;		/* this process ran another program before its last exec */
	unsigned sequence;	/* number of files that this pid wrote before its last exec */
	uint64_t start_ns;	/* UTC time when this process's first program began */
	char base[CP_PATH_MAX]; /* directory that relative paths start from; "": it is gone */
};

/* Read from ENVIRONMENT what this process is, and remove the variable. Call in the constructor,
 * before other threads exist. */
void cp_process_tree_read(struct cp_process_tree *l, char **environment);

/* Return true if the parent was started with this library and with VARIABLE set. Only the parent's
 * environment at its own start counts. */
bool cp_process_tree_parent_has(const char *variable);

/* Make a relative path in VARIABLE of ENVIRONMENT absolute, so that every descendant gets the same
 * path, however and wherever it is started. Returns the value that is then in the environment (PATH
 * itself if it was absolute). Call in the constructor. */
const char *cp_process_tree_pin(const struct cp_process_tree *l, char **environment,
				const char *variable, const char *path);

/* Write "VARIABLE=..." for a program that this process is about to exec. PID is the process that
 * will become the program and has written SEQUENCE files; 0 means a child. Any context. */
void cp_process_tree_write(const struct cp_process_tree *l, int pid, unsigned sequence, char *to,
			   size_t size);
/* Return the largest size in bytes that cp_process_tree_write needs. */
size_t cp_process_tree_room(const struct cp_process_tree *l);

/* profiled.c
 *
 * Knows which process is profiled, and whether this process is the one. Set by the session. */

/* Make the calling process the profiled one. */
void cp_profiled_begin(void);
/* Set whether a mode is on. */
void cp_profiled_set_active(bool active);
/* Stop the profiler's own system calls at the begin and end of threads, and for forks and execs,
 * because the program restricts its system calls. Holds until the program itself starts the
 * profiler. */
void cp_profiled_retire(void);
void cp_profiled_return(void);

/* Return the pid of the process that cp_profiled_begin was called in last. */
int cp_profiled_pid(void);
/* Return true if a mode is on (it may be toggled off). Any context. */
bool cp_profiled_active(void);
/* Return true in the process that was started, or a fork child whose fork handlers ran. False in
 * the child of a vfork, which shares memory with its parent, and in a child of a raw clone.
 * Independent of whether a mode is on. Any context. */
bool cp_profiled_is_this(void);
/* Return what cp_profiled_is_this does, mostly without its system call: a thread remembers that it
 * was true until it calls vfork. A child that a system call instruction of the program's own makes,
 * and that shares the memory, gets its parent's answer; so this is for the mask, which such a child
 * has anew at its exec. Any context. */
bool cp_profiled_is_this_thread(void);
/* Call before a child is made that shares the calling thread's TLS: by vfork; otherwise the two run
 * side by side. */
void cp_profiled_shares_thread(bool by_vfork);
/* Return true if a mode is on and cp_profiled_is_this() is true. Any context. */
bool cp_profiled_is_ours(void);
/* Return true if the profiler is inert: cp_profiled_retire was called. Any context. */
bool cp_profiled_retired(void);

/* send_self.c
 *
 * SIGPROFs that the program sends to its own calling thread.
 *
 * The kernel keeps one pending signal of each number for a thread, and drops any other. A sample of
 * the profiler is pending for as long as the program has SIGPROF blocked in the kernel, above all
 * while the program's own handler for SIGPROF runs. A sample may also be pending for a moment at
 * any time. So the profiler keeps the program's signal (host/signal/host_signal.h) and only asks
 * the kernel to run the profiler's handler. When the kernel runs it, for this wake-up or for the
 * pending sample, the handler calls the program's handler.
 *
 * Signals that another thread sends to this thread do not pass through here.
 */

/* Send SIGPROF to the calling thread, with the siginfo that the kernel would give: SI_TKILL, or
 * SI_QUEUE with VALUE. Called by the interposed functions. Returns false if no sample can be in the
 * way or the wake-up was refused; the caller must then send the signal itself. Async-signal-safe;
 * preserves errno. */
bool cp_send_self_prof(int code, union sigval value);

/* If SIG to TID of PID is a SIGPROF to the calling thread, send it. Returns true if it was sent. */
static inline bool cp_send_self_if_prof(pid_t pid, pid_t tid, int sig)
{
	return sig == SIGPROF && tid == cp_sys_gettid() && pid == cp_sys_getpid() &&
	       cp_send_self_prof(SI_TKILL, (union sigval){ .sival_ptr = NULL });
}

/* Take the sample if SI is one. SI is a SIGPROF that a call for signals took out of the pending
 * ones. Returns true if SI was a sample of the profiler, of any engine; the sample is then recorded
 * at the thread's current place. Async-signal-safe; preserves errno. */
bool cp_send_self_take_sample(const siginfo_t *si);

/* Return true if one of the program's SIGPROFs is pending, or if that can't be determined. Call
 * when the kernel has SIGPROF blocked in the calling thread and one is pending. Pending samples are
 * recorded at the thread's current place. Async-signal-safe. */
bool cp_send_self_is_pending(void);

/* Deliver a deferred signal to the calling thread, now or when the kernel's mask permits. Call when
 * a signal is deferred and the calling thread does not believe SIGPROF blocked. */
void cp_send_self_held(void);

/* signals.c
 *
 * The signals that the profiler handles for the program, and the program's view of them.
 *
 * They are SIGPROF, the dump signal, the toggle signal, and every signal whose default action ends
 * the process (so that a profile is written). The kernel has the profiler's handler only while the
 * program's own disposition is the default. SIGPROF is different: it is left alone, with its
 * disposition and in masks, until a mode that samples by it starts; from then on the kernel always
 * has the profiler's handler.
 */

/* Install the handlers, including those for the signals that C names. They call W. Ordinary
 * context. */
void cp_signals_install(const struct cp_config *c, const struct cp_signal_work *w);
/* Restore the defaults. SIGPROF's handler stays installed, inert. */
void cp_signals_remove(void);
/* Take SIGPROF for samples; the program's disposition goes into the table. From here on the masks
 * of the program don't keep SIGPROF from its threads: the caller imports its own
 * (cp_deferred_import_mask). Call before the first sample; calls repeat. Returns 0 or a negative
 * errno. */
int cp_signals_claim_prof(void);
/* Give SIGPROF back to the program, for good: no sample comes any more, nor does any call of the
 * program to sigaction. Call after cp_signals_remove. */
void cp_signals_give_prof_back(void);
/* Return true if the program has a handler for SIGPROF. */
bool cp_signals_program_has_prof(void);
/* Look whether libc's own profiler has set SIGPROF's handler, or put it back, by calls inside libc,
 * which change the kernel's disposition. The program's view then follows, and the profiler's
 * handler stays. Async-signal-safe. */
void cp_signals_look_at_prof(void);

/* sigaction on the program's view: the program never sees or removes the profiler's handlers.
 * Async-signal-safe, as sigaction must be. Returns 0, or -1 with errno. */
int cp_signals_sigaction(int sig, const struct sigaction *act, struct sigaction *old);

/* Return true if the kernel's handler for SIG is the profiler's. Async-signal-safe. */
bool cp_signals_are_ours(int sig);

/* Return true if a handler of the program for one of SIGNALS (kernel form) exists or once existed,
 * so it may have run. False is certain, unless the handler was installed without libc and is gone
 * again. Async-signal-safe. */
bool cp_signals_may_have_run(uint64_t signals);

/* The sigaltstack system call for the program; examines the new alternate stack of the calling
 * thread. Returns 0, or a negative errno. Async-signal-safe. */
long cp_signals_sigaltstack(const stack_t *ss, stack_t *old);
/* Call before the calling thread makes SIZE bytes at AT, where an alternate stack may be,
 * unwritable: no handler of the profiler may use that stack any more. Async-signal-safe. */
void cp_signals_alternate_goes(const void *at, size_t size);
/* Call around exec and posix_spawn. The first sets the inherited state of this thread and process
 * to the program's view of it; the second undoes that. */
void cp_signals_exec_begin(void);
void cp_signals_exec_failed(void);
void cp_signals_fork_child(void);

/* sigprof_handler.c
 *
 * Installs SIGPROF's handler (host/signal/host_signal.h), and looks whether it is still there.
 */

/* Install the handler, for cp_signals_claim_prof. The program's own disposition goes into the
 * table. Returns 0 or a negative errno. */
int cp_sigprof_handler_install(void);
/* Return true if the kernel still has the handler. Any context. */
bool cp_sigprof_handler_is_there(void);
/* Report, once, that the program has replaced the handler without libc, as a Go runtime does.
 * Samples then end. Called now and then on the collector's thread. */
void cp_sigprof_handler_check(void);

#endif
