/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/collect/, by the file that implements them. */
#ifndef CP_COLLECT_COLLECT_H
#define CP_COLLECT_COLLECT_H

#include <poll.h>
#include <pthread.h>

#include "base/control.h"
#include "base/futex_lock.h"
#include "output/output.h"

/* control_socket.c
 *
 * The control socket: how the collector's task hears of requests from other processes
 * (base/control.h). All functions but cp_control_socket_fork_child run in the task, whose table of
 * descriptors is its own: the program sees no descriptor of the socket, and can't close one.
 *
 * What a client can cost: one connection is served at a time. It has a second to send its request,
 * and gets one reply; neither is waited for. Of a flood of connections, BURST are accepted at once,
 * and then one every EACH_NS. The kernel queues BACKLOG more and refuses the rest.
 */

/* Answer request M in place: M becomes the reply. FD is the descriptor that came with it, or -1.
 * Called without the collector's lock. */
typedef void cp_control_answer(struct cp_control_message *m, int fd);
/* Called when the answer to the last request was sent, or (RECEIVED false) the client had gone.
 * Called without the collector's lock. */
typedef void cp_control_answered(bool received);

/* A second place of the socket. */
struct cp_control_place {
	const char *path; /* NULL: there is no second place */
	bool owner;	  /* PATH belongs to this process; others use PATH.PID */
};

/* Open the socket, and let the task sleep with descriptors. Returns 0 or a negative errno. */
int cp_control_socket_open(void);
/* Listen at PLACE as well. Returns 0 or a negative errno. */
int cp_control_socket_add_path(const struct cp_control_place *place);
bool cp_control_socket_is_open(void);
void cp_control_socket_close(void);
/* Sleep as cp_task_sleep does; a request also ends the sleep. TIMEOUT: NULL = no end. */
void cp_control_socket_sleep(uint32_t *word, uint32_t seen, const struct timespec *timeout);
/* Serve the clients that were ready at the end of the sleep. */
void cp_control_socket_serve(cp_control_answer *answer, cp_control_answered *answered);
/* Return when cp_control_socket_serve must be called again at the latest, in monotonic ns;
 * UINT64_MAX = never. */
uint64_t cp_control_socket_due(void);
/* Return the process id of the client that is being answered; 0 if the kernel hides it. */
int cp_control_socket_peer(void);
/* Reset in a fork child, which doesn't have the task. */
void cp_control_socket_fork_child(void);

/* Checks requests that come over the control socket, and makes replies; see base/control.h. Any
 * context. */

/* Check the first GOT bytes of M, which were received. Returns 0; -EPROTO for a request of another
 * version; or -EBADMSG for anything that is no request. */
int cp_control_socket_check(const struct cp_control_message *m, size_t got);
/* Make M a reply with RESULT and no text. */
void cp_control_socket_reply(struct cp_control_message *m, int result);
/* Add a line to the text of reply M. A control character in a value becomes "?". A line that
 * doesn't fit is left out. */
void cp_control_socket_text(struct cp_control_message *m, const char *key, const char *value);
void cp_control_socket_number(struct cp_control_message *m, const char *key, uint64_t value);

/* Decides who may send requests to this process over its control socket. */

/* Return true if the other end of connection FD may ask: root, or a process of the same user and
 * group as the calling task. As for ptrace, all user and group ids of the process must be the
 * peer's, and the process must have no capabilities: otherwise it could do for the peer what the
 * peer may not do. The collector's task has the ids that the program has at that moment. Any
 * context. */
bool cp_control_socket_may_ask(int fd);

/* collect.c
 *
 * The collector: the lock over all collected data, the draining of the rings, and the one task that
 * the profiler adds to the process. Where the program has several threads, a libc thread
 * is attached to the task (see worker.c).
 *
 * Work under the lock uses only raw system calls and the profiler's own pages. So a thread that is
 * exiting, crashing or in a handler may do it, whatever locks of libc it holds; cp_collect_run
 * exists for that. The work runs on a stack of its own, because the caller's may be a small
 * alternate stack.
 */

/* Requests to the collector, as bits. */
#define CP_REQUEST_DRAIN UINT32_C(1)
#define CP_REQUEST_TOGGLE UINT32_C(4)	 /* CPUPROFILESIGNAL */
#define CP_REQUEST_CHECK_END UINT32_C(8) /* check whether the collector is the last thread */
#define CP_REQUEST_QUIT UINT32_C(16)	 /* end the collector's thread */
#define CP_REQUEST_TICK UINT32_C(64)	 /* a timed action is due */
/* Numbered dumps: of one main mode with its companions, or of all modes. */
#define CP_REQUEST_DUMP_OF(mode) (UINT32_C(0x10000) << (mode))
#define CP_REQUEST_DUMP UINT32_C(0xffff0000)

/* Callbacks of the collector's owner. SERVE is called under the lock. */
struct cp_collect_work {
	/* Serve REQUESTS (DRAIN, DUMP_OF(mode), TOGGLE, TICK). */
	void (*serve)(uint32_t requests);
	/* Return when the next timed action (a checkpoint, a tick) is due, in monotonic ns;
	 * UINT64_MAX = never. */
	uint64_t (*due)(void);
	/* Return true if threads are to be looked for, because a mode is on. */
	bool (*busy)(void);
	/* Return true if there is to be a control socket. YOUNG: the process has just begun; many
	 * processes soon end, and a socket would cost them much. */
	bool (*controlled)(bool young);
	/* Set the second place of the socket. Called when the abstract name exists. */
	void (*control_place)(struct cp_control_place *place);
	/* Called if the socket could not be opened at the second place. */
	void (*control_failed)(const struct cp_control_place *place, int err);
	/* Answer a request; see cp_control_answer. Runs in the collector, without the lock. */
	cp_control_answer *answer;
	cp_control_answered *answered;
	/* Called when the program's last thread is gone and libc will call nothing more. Runs in
	 * the collector, without the lock. */
	void (*last)(void);
};

/* Allocate the lock's stack. Returns 0 or -ENOMEM. Call once, in ordinary context. */
int cp_collect_init(const struct cp_collect_work *work);
/* Allow a collector task that libc does not know. Call once, at the start, when every change of
 * credentials passes through the profiler. */
void cp_collect_thread_allow_raw_task(void);
/* Start the collector if none runs. Where that is allowed, the collector is a task that libc does
 * not know; otherwise it has a libc thread, too (worker.c). Returns 0 or a negative errno; after an
 * error the requesting threads serve their requests themselves. Ordinary context.
 */
int cp_collect_thread_start(void);
/* Start the collector again after a fork ended it, unless it was stopped on purpose. Ordinary
 * context. */
void cp_collect_thread_revive(void);
/* Return true if the calling thread is the program's only one. Uses the thread records alone where
 * /proc can't be read. */
bool cp_collect_loop_only_caller(void);
/* Return true if TID is a task of the profiler. Any context. */
bool cp_collect_loop_is_ours(int tid);
/* Return true if the collector runs as a task that libc does not know. Any context. */
bool cp_collect_is_raw_task(void);
/* End the collector and wait for its end. It first serves all earlier requests. Not a cancellation
 * point. Ordinary context. */
void cp_collect_thread_stop(void);
/* End the collector, so that the program can make another task. Returns false if there is no
 * collector. cp_collect_thread_revive starts it again. */
bool cp_collect_thread_give_way(void);
/* Stop the collector temporarily, if it runs. Any number of threads may do so; each then calls
 * unpark. The last unpark starts the collector again if it is still wanted (AGAIN). Ordinary
 * context. */
void cp_collect_thread_park(void);
void cp_collect_thread_unpark(bool again);
/* End the collector, as its own last act, once the request that it serves is answered. Call in the
 * loop. */
void cp_collect_thread_leave(void);
bool cp_collect_alive(void);

/* Request work. Wakes the collector. Where no collector runs (a fork child), the calling thread
 * serves the request at once, or leaves it to the thread that holds the lock. Any context. */
void cp_collect_request(uint32_t requests);
/* A thread's record has become ENDED. Requests a drain once there are many of them. */
void cp_collect_ended(void);
/* Return true if a record has become ENDED since the last drain began. */
bool cp_collect_has_ended(void);
/* A drain begins. */
void cp_collect_ends_drained(void);

/* Serve REQUESTS of the program or its user on the calling thread, before returning. The requests
 * are not merged with earlier ones that wait. Any context. */
void cp_collect_serve_now(uint32_t requests);

/* Take and return the requests of WHICH that were made and not yet begun; the caller must serve
 * them. Call under the lock or in the collector. */
uint32_t cp_collect_take(uint32_t which);

/* Run FN(ARG) under the lock, with all signals blocked, on the collector's own stack. Returns
 * false, without running FN, if the caller already holds the lock. Any context. */
bool cp_collect_run(void (*fn)(void *), void *arg);

/* Reset the collector in a fork child: no thread, no requests, a free lock. The data under the lock
 * may be half changed; its owner abandons it. */
void cp_collect_thread_fork_child(void);

/* The collector's state; private to collect.c, collect_loop.c and collect_thread.c. Each of these
 * files calls only the files before it.
 */

/* clang-format off */
/* | state    | left by                                                            |
 * |----------|--------------------------------------------------------------------|
 * | NONE     | cp_collect_thread_start, by the caller that wins                   |
 * | STARTING | the same, when the collector exists or could not be made           |
 * | RUNNING  | cp_collect_thread_stop, by the caller that wins; the collector, as |
 * |          | the last task                                                      |
 * | STOPPING | cp_collect_thread_stop, when the collector was joined              |
 */
/* clang-format on */
enum {
	CP_COLLECTOR_NONE,
	CP_COLLECTOR_STARTING,
	CP_COLLECTOR_RUNNING,
	CP_COLLECTOR_STOPPING,
};

struct cp_collector {
	struct cp_futex_lock lock;
	const struct cp_collect_work *work;
	uint32_t state;
	uint32_t raw_task; /* in RUNNING: the task has no libc thread (worker.c) */
	uint32_t leaving;  /* it ends by itself */
	uint32_t unjoined; /* it has, and its thread is still to be joined */
	uint32_t joining;  /* a thread of the profiler that the sweep doesn't know yet */
	uint32_t requests; /* CP_REQUEST_*, not yet served */
	uint32_t wakeups;  /* futex: changed with every request */
	int32_t thread_tid;
};

extern struct cp_collector cp_collector; /* collect.c */

/* Wake the collector's loop, so that it looks for requests. Any context. */
void cp_collect_wake(void);
/* Add REQUESTS and wake the running collector. */
void cp_collect_post(uint32_t requests);
/* The collector's loop. Runs in the worker, or in the thread where there is no worker; see struct
 * cp_worker_work. */
bool cp_collect_loop(void);
/* Where libc will not end the process: end the calling task, which is the last one, with the status
 * of the last ended thread. The kernel takes that status as the process's (Linux < 5.17: main's).
 * Otherwise do nothing. */
void cp_collect_loop_end_as_last(void);

/* control_path.c
 *
 * A control socket with a path in the file system, for clients in another network namespace.
 */

/* Bind socket FD to PATH, or to PATH.PID if UNIQUE is false or a process listens at PATH, and make
 * it listen with BACKLOG. The file is there when the socket listens; its mode is 0600. A socket
 * that nobody listens at, left by a process that was killed, is replaced if it is this user's.
 * Returns 0; -EEXIST: there is another file; or a negative errno. In the collector's task, which
 * must have its own table of descriptors. */
int cp_control_path_bind(int fd, const char *path, bool unique, int backlog);
/* Remove the file if it is still the one of the last bind. Any context; no libc. */
void cp_control_path_remove(void);
/* Remove the file until the next bind. Both run under the collector's lock, so the file is gone
 * when the process ends or becomes another program. */
void cp_control_path_withdraw(void);
/* No further bind is to be tried after cp_control_path_withdraw. */
void cp_control_path_give_up(void);
/* Return true after cp_control_path_withdraw, until the next bind. */
bool cp_control_path_is_withdrawn(void);
/* Forget the file in a fork child; it is the parent's. */
void cp_control_path_fork_child(void);

/* drain.c
 *
 * Moves the contents of rings and modes into the running runs. Every function runs under the
 * collector's lock, unless it says otherwise.
 */

/* Move the contents of rings and modes into RUNS (CP_MODES of them; a run that is off gets
 * nothing), and give back the rings of ended threads. */
void cp_drain_all(struct cp_run *runs, struct cp_modules *modules);
/* Return true if the calling thread, T (NULL: it has no record), has done anything since the last
 * drain, or any thread has allocated at a new place. Needs no lock: T's rings stay while T lives.
 */
bool cp_drain_has_more(const struct cp_thread *t);
/* Drain before R begins, so that R doesn't get earlier ring contents. */
void cp_drain_forget(const struct cp_run *r, struct cp_run *runs, struct cp_modules *modules);
/* Return the number of T's label in R, for a mode that makes rows itself; CP_NO_THREAD if memory is
 * exhausted. */
uint32_t cp_drain_label(struct cp_run *r, struct cp_thread *t);
/* The same for the thread WHO (cp_thread_who), which may have ended. */
uint32_t cp_drain_label_of(struct cp_run *r, uint64_t who);
/* The same for a caller that calls cp_drain_name before a file is written. */
uint32_t cp_drain_unnamed(struct cp_run *r, struct cp_thread *t);
/* Add a record of WEIGHT and COUNT, as of R's mode, with the last stack in T's ring, and its
 * moment, to R. Returns false if there is none. In the collector. */
bool cp_drain_again(struct cp_run *r, struct cp_thread *t, uint64_t weight, uint64_t count);
/* Give T's label in R the name that T has now. */
void cp_drain_name(struct cp_run *r, const struct cp_thread *t);

/* Add the event of RECORD to R's time index: E has thread, row, weight, count, and the duration, at
 * whose end the record was made. */
void cp_drain_event(struct cp_run *r, const struct cp_record *record, struct cp_time_event e);
/* The same for a wait; and who ended it, if MORE tells. */
void cp_drain_wait(struct cp_run *r, const struct cp_record *record, struct cp_time_event e);

/* perf_probe.c
 *
 * Finds out whether this process may have perf events. */

/* Try an event of WHAT (NULL: the task clock) in the calling thread, which it does not outlive.
 * Returns NULL if that is possible, or the reason why not, in words, with the kernel's error in
 * *ERR (negative; 0: it was not asked). The next call may overwrite the text. Ordinary context. */
const char *cp_perf_probe(const struct cp_perf_what *what, int *err);

/* shrink.c
 *
 * Gives up the rows of a run that nobody will ask for: a run without a file, whose windows are
 * taken. Under the collector's lock.
 */

/* Gives up the rows of R that no consumer needs, and the labels of threads that have no row left,
 * if that is worth the work. R's rows are only those of records. */
void cp_shrink_run(struct cp_run *r);

/* sweep.c
 *
 * Finds threads that were not announced: made by a raw clone, or before the profiler started.
 * Compares /proc/self/task with the thread records. Call under the collector's lock or before there
 * is a collector. Uses only raw system calls and the profiler's own pages.
 */

/* Tasks of the profiler, which the sweep skips; 0 = none. */
struct cp_sweep_ours {
	int tid[3];
};

/* Give a record to each thread that has none and is seen for the second time; end the records of
 * such threads when they are gone. Returns true if a thread was seen that the next sweep will
 * register. Collector only. */
bool cp_sweep_threads(const struct cp_sweep_ours *ours);
/* From here on, a thread of libc that the sweep finds has its record in its TLS, as a thread has
 * that the profiler started. Call in a thread of libc, where libcprof was loaded late. */
void cp_sweep_adopt(void);
/* Note if main has ended already. Call before the first sweep, where libcprof was loaded late. */
void cp_sweep_find_main_ended(void);
/* Call VISIT for each task of the process, the profiler's too, until VISIT returns a nonzero value.
 * Returns that value, 0 or a negative errno. */
int cp_sweep_each(int (*visit)(int tid, void *context), void *context);
/* Return true if every thread of the program that libc knows is gone; a leader that is a zombie
 * counts as gone. Uses the records alone where /proc can't be read. */
bool cp_sweep_all_gone(const struct cp_sweep_ours *ours);
/* Forget the parent's sweep in a fork child. */
void cp_sweep_fork_child(void);

/* An index of thread records by thread id, for callers that look up many of them; cp_thread_of
 * searches all records for each. The collector only. */

struct cp_thread;

/* Read the live records into the index. */
void cp_sweep_read_tids(void);
/* Return the live record of thread TID if it was live at the last reading; otherwise NULL. */
struct cp_thread *cp_sweep_find_tid(int tid);
/* Empty the index in a fork child. */
void cp_sweep_tids_fork_child(void);

/* task_sleep.c
 *
 * The sleep of the collector's task, and its end by a request of another thread.
 *
 * Without descriptors the task waits for a futex. With descriptors it waits for a signal that it
 * keeps blocked: other threads send it, since they have another table of descriptors and so can't
 * write to one of the task's; and the kernel sends it when a descriptor becomes ready (O_ASYNC). A
 * signalfd in ppoll would do, too, but each signal that any thread of the process gets, as each
 * tick of a timer, wakes whoever polls a signalfd. The signal is 33, which glibc keeps for setuid
 * in threads: the program can't block it or wait for it, so no signal of the program is ever taken.
 * libc's handler ignores a signal 33 that is not sent by tgkill.
 */

/* Let the calling task sleep with descriptors from now on. Returns 0 or a negative errno. */
int cp_task_sleep_begin(void);
/* Let a sleep end when FD, which doesn't block, becomes ready; in the task. Returns 0 or a negative
 * errno. */
int cp_task_sleep_watch(int fd);
/* Stop watching descriptors: in the task, before it ends or waits for the futex again. */
void cp_task_sleep_end(void);
#define CP_TASK_SLEEP_FDS 2
/* Sleep until TIMEOUT is over (NULL: no end), WORD differs from SEEN, or one of COUNT FDS is ready;
 * the revents, which the caller has cleared, are set then. COUNT: CP_TASK_SLEEP_FDS at most. */
void cp_task_sleep(uint32_t *word, uint32_t seen, const struct timespec *timeout,
		   struct pollfd *fds, unsigned count);
/* End the task's sleep, after WORD was changed. Any context. */
void cp_task_sleep_wake(uint32_t *word);
/* Reset in a fork child, which has no such task. */
void cp_task_sleep_fork_child(void);

/* thread_timer.c
 *
 * Kernel timers on the CPU clock of one thread; the kernel makes them for any thread of the
 * process.
 */

/* Create a timer on T's clock, not armed, that sends SIGPROF to T for MODE
 * (host/signal/host_signal.h). Returns its id, or a negative errno: -ESRCH when the thread has
 * ended. Any context. */
int cp_thread_timer_create(const struct cp_thread *t, enum cprof_mode mode);
/* Return the interval, in ns, at which the kernel checks timers on CPU clocks. Any context. */
uint64_t cp_thread_timer_tick_ns(void);
/* Return the advice to print after ERR in a message that a timer can't be had; may be empty. */
const char *cp_thread_timer_advice(int err);

/* How long threads run at a time. The kernel's tick takes the samples of running threads, so of
 * work that is shorter than a tick they tell less than of other work; a profile says how much there
 * is.
 *
 * Called by the modes that sample by the tick, in ordinary context. */

/* Add thread T's bursts in MODE to the counts if enough CPU time has passed; T's CPU clock is at
 * CPU. May read a file of T. */
void cp_thread_timer_bursts_look(unsigned mode, struct cp_bursts *b, const struct cp_thread *t,
				 uint64_t cpu);
/* The same for the calling thread, which ends; no file is read. */
void cp_thread_timer_bursts_end(unsigned mode, struct cp_bursts *b, uint64_t cpu);
/* Adds a note to R's comments, ending with ADVICE, if a good part of the CPU time is of threads
 * that run for less than a tick at a time. */
void cp_thread_timer_bursts_note(struct cp_comments *out, const struct cp_run *r,
				 const char *advice);

/* threads.c
 *
 * The begin and end of threads: the main thread, threads made by pthread_create or thrd_create, and
 * threads that only /proc/self/task shows.
 */

/* Register the calling thread if it is not registered: main in the constructor, the caller of
 * cprof_start or cprof_thread_pause. A record that the sweep made for it ends. Ordinary context. */
void cp_threads_register(void);
/* Return a record for a thread about to be created, for use as the argument of cp_threads_entry.
 * Returns NULL if the thread must be created without a record; the sweep then finds it. */
struct cp_thread *cp_threads_prepare(const pthread_attr_t *attr, void *(*start)(void *),
				     void *argument);
void *cp_threads_entry(void *record);
/* The same for thrd_create, where START returns int. */
struct cp_thread *cp_threads_prepare_c11(int (*start)(void *), void *argument);
int cp_threads_entry_c11(void *record);
/* Return true if MASK, a thread's, has SIGPROF by a call of the program. A handler of the profiler,
 * and libc at the begin and end of a thread, block everything for a moment, including libc's own
 * signals 32 or 33. The program's calls can't block those, so a mask with them doesn't count. */
bool cp_threads_has_prof(uint64_t mask);
/* Return true if thread TID has such a mask. */
bool cp_threads_blocks_prof(int tid);
/* Find the threads that have blocked SIGPROF before the program's view of masks was kept, and are
 * not sampled. Call right after a start; later, a handler's mask would look the same. Ordinary
 * context. */
void cp_threads_find_blocking(void);
/* Add a note to the comments of those that still block SIGPROF, or have ended so. */
void cp_threads_blocking_note(struct cp_comments *out);
/* Return true if the main thread has ended, through pthread_exit or by its own system call. */
bool cp_threads_main_ended(void);
/* End the record of the calling thread, which is about to end with STATUS by its own system call.
 * Any context with libc's TLS. */
void cp_threads_end_raw(int status);
/* Return true if some thread has ended by its own system call. libc then can't see which thread is
 * the last one. */
bool cp_threads_ended_raw(void);
/* Return the exit status that the last ended thread gave to the kernel. */
int cp_threads_last_status(void);
/* Return true if main has ended by its own system call, unseen by the profiler. The collector asks
 * this, and then calls cp_threads_end_main. */
bool cp_threads_main_is_lost(void);
void cp_threads_end_main(int status);
/* Return true if thread TID, of this process, is one of libc's and has not ended: libc gives each
 * of its threads a list of robust locks, which the kernel forgets when the thread ends. 0 is the
 * calling thread. True, too, if the kernel doesn't tell. The end of libc's last thread ends the
 * process, even if a raw clone is left. */
bool cp_threads_is_libcs(int tid);
/* T is the record of main, which has a list of robust locks. For the sweep. */
void cp_threads_adopt_main(struct cp_thread *t);
/* Register the calling thread, which the sweep has not found yet, as the sweep would, and begin it
 * for the modes. Returns NULL if that is impossible now, if too many threads registered between two
 * sweeps, or if the thread does not belong to the program. Any context, also one without libc's
 * TLS. */
struct cp_thread *cp_threads_register_foreign(void);
/* Reset the limit of cp_threads_register_foreign, after a sweep has ended the records of ended
 * threads. */
void cp_threads_reset_registered(void);
/* Keep threads from registering themselves while the sweep registers one. Signals are blocked. */
void cp_threads_registration_begin(void);
void cp_threads_registration_end(void);
/* Return true if the program has only one thread. */
bool cp_threads_alone(void);
/* Call in a fork child, where only the calling thread is left. */
void cp_threads_fork_child(void);

/* worker.c
 *
 * A task in which the collector works with its own table of descriptors.
 *
 * If a profiler thread opened a file in the program's table, it would take, for microseconds, the
 * number that the program's next open must get. Closing the file would release the program's own
 * fcntl locks on it, and a fork would copy the descriptor. So the collector is a task that shares
 * everything with the program (memory, signal handlers, working directory) except the table of
 * descriptors, which is empty. (Exception: a program that has asked for a message queue's
 * notification; see cp_worker_stay_in_table.) libc does not know the task: it has its own TLS
 * (worker.c), and all signals are blocked.
 *
 * Nearly always there is only the task, a raw task (cp_worker_begin): libc would call the program's
 * malloc to make a thread, and would take a program of one thread for a multi-threaded one, which
 * would lock where no other thread exists. Work that needs the program's table (lines to stderr)
 * gets the descriptor from the kernel. Code that changes credentials ends the task first.
 *
 * Where the program's changes of credentials don't pass through the profiler, because libcprof was
 * loaded late or privately, a libc thread is attached to the task (cp_worker_run): it waits for the
 * task and writes the lines. It is the thread that libc knows, and it may be the last one.
 * Credentials belong to a task; libc's setuid reaches the threads it knows, including the
 * collector's, by a signal. The signal ends the wait, and the task is made anew. A signal that
 * arrived while the thread was not waiting is noticed within a second, by the changed credentials.
 */

struct cp_worker_work {
	/* The loop; runs in the task. Returns true at its end, false if it must go on in a new task
	 * (cp_worker_is_stale). */
	bool (*loop)(void);
	/* Wake the loop, so that it looks for requests; runs in the thread. */
	void (*wake)(void);
	/* Write N bytes, a line, to FD, which is the program's descriptor 2. */
	void (*line)(int fd, const char *text, size_t n);
};

/* Run the loop in a task without a libc thread, with the caller's credentials. Returns 0 or a
 * negative errno. */
int cp_worker_begin(const struct cp_worker_work *work);
/* Wait until the task of cp_worker_begin is gone. The loop was already told to end. */
void cp_worker_end(void);
/* Write the lines that the task could not write. Call in a thread of the program, in any
 * context, with the collector's lock held. */
void cp_worker_write_rest(void);

/* Run the loop until it is done: in a task or, where the kernel makes no such task, in the calling
 * thread. All signals but libc's own are blocked. The collector's thread only. */
void cp_worker_run(const struct cp_worker_work *work);
/* Return true if the loop must return as soon as possible. Call in the loop. */
bool cp_worker_is_stale(void);
/* Make sure that no task leaves the program's table from now on. Call before the program asks for a
 * message queue's notification: the kernel drops the notification when any task of the process
 * closes a copy of the queue's descriptor, as a task does that leaves the program's table. Ordinary
 * context. */
void cp_worker_stay_in_table(void);
/* Return true if the loop runs in a task whose table of descriptors is its own. Call in the loop.
 */
bool cp_worker_has_own_table(void);
/* Return the task's id; 0 if there is none. Any context. */
int cp_worker_tid(void);
/* Call F in the thread that is attached to the task, because F needs libc's TLS: the loader's locks
 * know their owner by it. A task without a thread does nothing; another caller calls F itself. Call
 * in the loop, without the collector's lock. */
void cp_worker_call(void (*f)(void));
/* Wait until task TID, which is ending, no longer counts for the kernel; while it counts, unshare
 * fails. The wait is bounded, because another task may have got that id meanwhile. */
void cp_worker_wait_gone(int tid);
/* Forget the task in a fork child, where it does not exist. */
void cp_worker_fork_child(void);

#endif
