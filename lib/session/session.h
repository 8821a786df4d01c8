/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/session/, by the file that implements them. */
#ifndef CP_SESSION_SESSION_H
#define CP_SESSION_SESSION_H

#include "base/control.h"
#include "host/host.h"
#include "modes/wall/wall.h"

/* api.c
 *
 * Functions that the gperftools-compatible functions (gperftools.c) use. */

/* Starts MODE for gperftools' functions. Everything except the path comes from the environment.
 * NAME is used literally, not as a template; SUFFIX may be a template. CPUPROFILE_REALTIME turns
 * CPU into wall. Heap dumps get gperftools' intervals if the environment sets no interval. Returns
 * as cprof_start. */
int cp_api_start_mode(enum cprof_mode mode, const char *name, const char *suffix);

/* api_change.c
 *
 * Lets the program make one start or stop at a time. A concurrent one fails with -EBUSY and does
 * not wait. */

/* Begins a start or stop. Returns false if another one runs. */
bool cp_api_change_begin(void);
/* Ends the start or stop. Returns ERR. */
int cp_api_change_end(int err);
/* Call in a fork child. Returns true if the session is half started or half stopped, by a thread
 * that the child doesn't have. */
bool cp_api_change_fork_child(void);

/* attached.c
 *
 * The end of a session in a process that ran already when libcprof was loaded (base/attach.h). */

/* Note that there is such a session. */
void cp_attached_note(void);
/* Is there one? */
bool cp_attached(void);
/* End it: the modes, with their files, the control socket, and what hooks/attach.c has begun.
 * Returns 0, -ESRCH, -EOPNOTSUPP or -EBUSY (base/control.h). In the collector, without its lock;
 * the collector ends after the answer. */
int cp_attached_end(void);

/* control.c
 *
 * Answers requests of other processes, which come over the control socket (base/control.h). Runs in
 * the collector. */

struct cp_control_place;

/* Answers request M in place, with descriptor FD or -1. Without the collector's lock. */
void cp_control_answer_request(struct cp_control_message *m, int fd);
/* Called when the answer to the last request was sent, or the client had gone. Without the
 * collector's lock. */
void cp_control_see_answered(bool received);
/* Call in a fork child: drops the request, which is the parent's. */
void cp_control_fork_child(void);
/* Wait until it is known whether the window that is just being sent has arrived, so that the window
 * at an exec or the end doesn't cover its time again. At most a tenth of a second. Any context. */
void cp_control_wait_for_answer(void);
/* Returns whether there is to be a control socket; EARLY: the collector has just begun. */
bool cp_control_wanted(bool early);
/* Sets the socket's second place: CPROF_CONTROL=/PATH. */
void cp_control_where(struct cp_control_place *place);
/* Prints that the socket can't be there. The process's first program prints it always, others with
 * CPROF_VERBOSE. */
void cp_control_failed(const struct cp_control_place *place, int err);

/* thread_waits.c
 *
 * What a thread waits for, beyond its system call: the lock and its holder, the descriptor, the
 * child, the thread. For threads_now.c, under the collector's lock. The thread is not signalled or
 * stopped; memory is copied by the kernel, so no read can fault. */

struct cp_thread_wait {
	const char *cause; /* text of the label "wait" in wall profiles; NULL = unknown */
	/* For a futex: the kind of lock ("mutex") that its word belongs to, and the lock's address;
	 * 0 = none. For a condition, the word's own address. */
	const char *lock_kind;
	uint64_t lock;
	int holder; /* tid of the thread that has the lock, while this one waits; 0 = unknown */
	unsigned readers;	   /* number of threads that hold it to read */
	int joined;		   /* tid of the thread whose end is waited for; 0 = none */
	int fd;			   /* -1 = none */
	const char *kind, *target; /* kind and target of FD; NULL = unknown, or not allowed */
	unsigned descriptors; /* number of descriptors that poll or select waits for; 0 = another
				 call */
	int child;	      /* pid of the child that is waited for; 0 = none, or any */
	const char *child_name;
	bool limited;	   /* the wait for the lock has a time limit */
	unsigned deadlock; /* number of the deadlock that the thread is a part of; 0 = none */
};

/* A thread at the time of the look. */
struct cp_thread_look {
	int tid;
	enum cp_wall_doing doing;
	uint64_t clock; /* its CPU time, for a waiting thread */
	struct cp_wall_call call;
	enum cp_wall_futex futex; /* kind of the futex that it waits for */
	struct cp_thread_wait wait;
};

/* Find out what T waits for. ALLOWED: enum cp_io_target. Texts are in TEXTS. */
void cp_thread_waits_find(struct cp_thread_look *t, int allowed, struct cp_arena *texts);
/* Return the tid of the thread that T waits for: that of the lock's holder, as the lock says now,
 * or of the thread that T joins; 0: none, or unknown. */
int cp_thread_waits_for(const struct cp_thread_look *t);
/* Return true if T has waited all the time since it was seen. */
bool cp_thread_waits_still(const struct cp_thread_look *t);

/* fork_handlers.c
 *
 * The profiler's reaction to fork.
 */

/* Register with pthread_atfork. Call in the constructor: later it may allocate. */
void cp_fork_handlers_install(void);
/* Let the handlers act from now on, because a session begins. Any context. */
void cp_fork_handlers_begin(void);

/* mode_set.c
 *
 * Checks before a mode starts, so that the user learns of an error then, and not at the end. Any
 * context in which the settings don't change.
 */

/* Returns 0 if mode M can write its file at TEMPLATE at its end, or a negative errno. */
int cp_mode_set_check_path(unsigned m, const char *template);
/* Returns 0 if the modes of C can be added to the running session, or a negative errno. */
int cp_mode_set_check_added(const struct cp_config *c);

/* Changes settings of a mode while it is on.
 */

#define CP_MODE_SET_MOST 4 /* settings of one mode that can be changed */

struct cp_mode_set {
	unsigned mode;			      /* below CP_MAIN_MODES */
	const char *(*name)(const char *key); /* returns the value of a variable, or NULL */
	unsigned count;			      /* out: number of settings that were given */
	char changes[CP_MODE_SET_MOST][72];   /* out: "KEY=VALUE, before: VALUE" */
	char why[192]; /* out, with -ERANGE: the bad value, and the accepted ones */
	int result; /* out: 0; -ESRCH: the mode isn't on; -EINVAL: no changeable setting is given;
		       -ERANGE; -EOPNOTSUPP: this change needs a new start */
};

/* Applies changed settings to a mode that is on: all or none. A setting that is given with its
 * present value is in COUNT, too. For cp_collect_run, which holds the lock; ARG is a struct
 * cp_mode_set. */
void cp_mode_set_apply(void *arg);

/* process.c
 *
 * The profiler's part in a process's start, end, forks and execs. */

/* Called from the constructor: reads the environment, and starts if it asks for a mode. */
void cp_process_begin(void);
/* Called from the destructor and every other way out of the process: puts the profile at its path.
 * Afterwards no code of the program runs except destructors that follow the profiler's. */
void cp_process_end(const char *when);
/* Called before the calling thread ends with STATUS by a system call of its own. If it is the only
 * thread, the process ends, too. */
void cp_process_thread_exit(int status);
/* cp_process_end in two parts, for callers where more of the program may run in between. */
void cp_process_write_last(const char *when);
void cp_process_leave(void);

/* Call cp_process_daemon_begin before daemon(), in which libc ends this process itself; it returns
 * the pid. Call cp_process_daemon_end(PID) with that pid afterwards: in the same process, or in
 * the child that goes on, where it does nothing. Ordinary context. */
int cp_process_daemon_begin(void);
void cp_process_daemon_end(int pid);

/* Call cp_process_exec_begin before an exec in this process or a child: it writes the samples
 * collected so far, and makes signals and timers inheritable. Call cp_process_exec_failed after an
 * exec that failed. */
void cp_process_exec_begin(void);
void cp_process_exec_failed(void);
/* Returns whether ENVIRONMENT, of a program to be run, asks for one of the profiles that this
 * process was started with. Any context. */
bool cp_process_shares(char *const *environment);
/* Returns whether this process was started with such a profile at all. */
bool cp_process_shares_any(void);
/* Writes "_CPROF_LINEAGE=..." for the environment of a program to be run to TO. CHILD: another
 * process runs the program. cp_process_variable_room returns the room needed. */
void cp_process_write_variable(char *to, size_t size, bool child);
size_t cp_process_variable_room(void);

/* For fork_handlers.c, in the child. Make the child a process of its own. ALONE: the forking thread
 * was the program's only thread. */
void cp_process_fork_child(bool alone);
/* Return true if the child has a profile; otherwise no mode is on in it. HALFWAY: another thread
 * was starting or stopping modes. */
bool cp_process_fork_goes_on(bool halfway);
/* Begin the child's modes. */
void cp_process_fork_modes(void);
/* Called when fork has returned in the child: restarts the collector for a mode that works by the
 * clock, if the program had one thread. Does nothing if this isn't a fork child. Ordinary
 * context. */
void cp_process_forked(void);
/* Called when the program could not get a thread or process, with the error. Returns true if it may
 * try again: the profiler's own tasks have ended, which count for RLIMIT_NPROC and pids.max. Then
 * call cp_process_thread_created; a collector that has no room is noted. Ordinary context. */
bool cp_process_gives_way(int err);
/* Called after the program has created a thread. The collector is then needed again if a fork ended
 * it. */
void cp_process_thread_created(void);
/* Called in the constructor: the program's calls, those that change credentials included, reach
 * the profiler's functions. */
void cp_process_is_interposed(void);

/* Called before the program asks for a message queue's notification (collect.h). Ordinary
 * context. */
void cp_process_awaits_queue(void);
/* Called before the program becomes the subreaper of orphaned descendants. Any context. */
void cp_process_becomes_subreaper(void);

/* Makes the profiler inert in a child that a raw clone() made as fork would, without fork
 * handlers. No profile could be written in such a child, and the child may be about to restrict
 * its system calls. Called before the child creates a thread, and before a seccomp filter.
 * Ordinary context. Also called in a child that shares the parent's memory; that memory is left
 * unchanged. */
void cp_process_leave_others(void);

/* push.c
 *
 * CPROF_PUSH=URL: windows of this process are pushed by a helper, `cprof push`. The library itself
 * speaks to nobody. Called by window.c, under the collector's lock.
 *
 * A process that has lived for a second starts a helper, which takes windows over the control
 * socket. A process that ends before a helper has asked for a window, or that has no control
 * socket, has its files pushed by the helper at its end (output.h). A helper that was killed is
 * started again. A helper that was started may
 * still be on its way, or may leave the process to another one, so only its request counts.
 */

struct cp_helper;

/* Plans the start of the helper: at a start of the session. */
void cp_push_plan(void);
/* The same in a fork child; the parent's helper isn't the child's. */
void cp_push_fork_child(void);
/* Returns when the helper must be started, in monotonic ns; UINT64_MAX: never. */
uint64_t cp_push_due(void);
/* Starts the helper if it is time. In the collector. */
void cp_push_serve(void);
/* A client has begun a window with the start of a mode: it is a helper, which also pushes what the
 * process does after its last window. FOLLOWER: its process id; 0 = it is out of sight. */
void cp_push_note_window(int follower);
/* Starts the helper `cprof VERB -helper ARGUMENT`. Returns NULL if it can't be started now; with
 * CPROF_VERBOSE, WITHOUT and the reason are said. */
struct cp_helper *cp_push_start_helper(const char *verb, const char *argument, const char *without);
/* Must this process's files still be pushed at its end? */
bool cp_push_wants_files(void);

/* runs.c
 *
 * Each mode's run while the mode is on: its name, begin and end. Under the collector's lock,
 * except for functions that only read the settings.
 */

struct cp_config;

/* Returns the mode whose path names M's file: M itself, or the mode that M is a companion of. */
enum cprof_mode cp_runs_parent(unsigned m);
/* Returns whether the settings ask for mode M. */
bool cp_runs_wants(unsigned m);
/* Returns whether the names of M's files have the pid, also in the first process. */
bool cp_runs_has_pid(unsigned m);
/* Returns whether a signal begins and ends mode M. */
bool cp_runs_toggled(unsigned m);
/* Returns whether a mode is on. Any context, without the lock. */
bool cp_runs_any(void);

/* Returns 0, or a negative errno; the mode is then off. Modes that begin together have one zero of
 * their times, that of *WITH; NULL: M is the first, and becomes it. */
int cp_runs_begin(unsigned m, const struct cp_run **with);
/* Writes M's file at its own path and drops the collected samples. Returns the write's error. */
int cp_runs_end(unsigned m, const char *when);
/* The same without a file. */
void cp_runs_abandon(unsigned m);
/* Returns when the last LAST_NS, or what is kept of them, begin: monotonic, 0 = with the runs. */
uint64_t cp_runs_since(uint64_t last_ns);
/* In a fork child, without the lock: the modes that are on begin anew, under the child's name. */
void cp_runs_fork_child(void);
/* Print what the user should know of the modes of C that are on. Call without the lock, right after
 * they have started, before the program goes on. */
void cp_runs_tell(const struct cp_config *c);

/* serve.c
 *
 * CPROF_SERVE=HOST:PORT: a helper, `cprof serve`, answers there for this process and for all others
 * of the user that name the same address. Called by window.c, under the collector's lock.
 *
 * A process that has lived for a second starts a helper, which ends at once if there is one.
 */

/* Plans the start of the helper: at a start of the session, and in a fork child. */
void cp_serve_plan(void);
/* Returns when the helper is due, in monotonic ns; UINT64_MAX: never. */
uint64_t cp_serve_due(void);
/* Starts the helper if it is time. In the collector. */
void cp_serve_start(void);

/* dump_on.c
 *
 * CPROF_DUMP_ON: when a span was long, or much memory is in use, the collector writes the last
 * seconds of all modes to the next number: at most once a minute, and the last eight stay.
 */

/* A span that takes longer than this may be one to dump on; UINT64_MAX: none. */
extern uint64_t cp_dump_on_span_most;
/* A span called NAME that LASTED so many ns has ended. Any context. */
void cp_dump_on_span(const char *name, uint64_t lasted);
/* The rest is called under the collector's lock, and in a fork child. */
void cp_dump_on_begin(void);
/* Returns when look is to be called, in monotonic ns. */
uint64_t cp_dump_on_due(void);
/* Returns whether to dump now. AT_ONCE: the process is about to end. Then, when all is drained,
 * reason returns why, and sets *SINCE_NS to the begin of the time to be written; after the dump,
 * dumped removes the files before the last eight. */
bool cp_dump_on_look(bool at_once);
const char *cp_dump_on_reason(uint64_t *since_ns);
void cp_dump_on_dumped(void);

/* session.c
 *
 * The profiler as a whole: start, stop, write. process.c connects it to the life of the process.
 */

/* Starts the modes that C names, in addition to the modes that are on, whose settings stay.
 * Returns 0, -EALREADY if one of C's modes is on, or the error of the paths or the kernel. With
 * EACH, a mode that can't start is reported on stderr and the others go on; returns 0 if one
 * started. Without EACH, starts all modes or none and prints nothing. Ordinary context. */
int cp_session_start(const struct cp_config *c, bool each);
/* Stops MODE with its companions and writes their files. Stopping the last mode stops everything.
 * Returns 0, -ESRCH if MODE isn't on, or the write's error. */
int cp_session_stop_mode(enum cprof_mode mode);
/* Stops, writes the profiles, and drops the collected samples. Returns 0, -ESRCH if no session
 * runs, or the write's error. */
int cp_session_stop(void);

/* Returns whether the session has no mode on and only waits for requests from outside. */
bool cp_session_is_idle(void);
/* If CPROF_CONTROL=on was set, starts a session without a mode, after the program has stopped the
 * last one. Returns 0 or a negative errno. Ordinary context. */
int cp_session_start_idle(void);

/* Writes the files at the modes' own paths, regardless of which locks are held. BEFORE_EXEC: only
 * files that have samples, and those who take windows get what they have not had yet. Any context.
 */
void cp_session_write(const char *when, bool before_exec);
/* The same at the end of the process. Afterwards the helper adds line numbers to the files; the
 * process waits for it at most SECONDS. */
void cp_session_finish(const char *when, unsigned seconds);
/* Writes MODE to PATH, which is absolute; or, if PATH is NULL, all modes to the next number.
 * Returns 0 or a negative errno. */
int cp_session_dump(enum cprof_mode mode, const char *path);
/* Writes the last NS of all modes to the next number. */
int cp_session_dump_last(uint64_t ns);
/* As cp_session_dump, to a descriptor. Waits for the descriptor's reader without limit. */
int cp_session_dump_fd(enum cprof_mode mode, int fd);
/* Writes the heap and its companions to the next number. REASON, if not NULL, goes into their
 * comments. */
int cp_session_dump_heap(const char *reason);
/* Writes the heap as text (heap.h) into TO, which this function opens. */
int cp_session_heap_text(struct cp_memory_sink *to);
/* Returns whether MODE is on in this process; the path of its file; and its start time in UTC
 * seconds. Any context. */
bool cp_session_runs(enum cprof_mode mode);
void cp_session_path(enum cprof_mode mode, char *to, size_t size);
uint64_t cp_session_since(enum cprof_mode mode);
/* Returns the mode that CPUPROFILE or ProfilerStart has started, or would start: CPU or wall. Any
 * context. */
enum cprof_mode cp_session_named_mode(void);
/* Returns the first of the main modes that is on; the CPU mode if none of them is on. */
enum cprof_mode cp_session_first_mode(void);

/* Returns whether CPROF_LABEL_KEYS allows labels with KEY in files. Any context. */
bool cp_session_keeps_label(const char *key);

/* Called before a module goes away: samples in the rings are resolved against the module, and the
 * module stays known for samples of its destructors. */
void cp_session_drain_unloading(void);
/* Called after the module has gone: drains the samples that arrived since, if there are any. */
void cp_session_drain_rest(void);
/* Called before the caller ends the collector together with the process, wherever the collector
 * is: the collector begins no file from now on, and the control socket's file goes. Call this
 * before a last write, which waits for a file that the collector may be writing. Ordinary context,
 * and a fatal signal's handler. */
void cp_session_leave(void);
/* Call after cp_session_leave: writes the dumps that were requested before, and waits for one in
 * progress. */
void cp_session_dump_asked(void);
/* Reverts cp_session_leave when the process goes on: the requests made meanwhile are served. */
void cp_session_stay(void);
/* Ends the collector's thread when the caller (main or the only thread) needs to be the only
 * thread (unshare, setns), or changes attributes that the collector's thread shares. Returns
 * whether the collector was parked. cp_session_unpark takes this result and restarts the collector
 * when the last concurrent caller is done. errno is unchanged. */
bool cp_session_park(void);
/* The same for attributes that libc changes in all of its threads. The collector isn't one of
 * libc's threads as long as the program has one thread. Any thread. */
bool cp_session_park_raw_task(void);
void cp_session_unpark(bool parked);
/* Called before the program forbids system calls: writes the profiles, and the profiler becomes
 * inert. */
void cp_session_retire(const char *why);

void cp_session_stats(enum cprof_mode mode, struct cprof_stats *s);

/* Determines this process's place in the process tree; the first call reads the environment.
 * Ordinary context. */
void cp_session_start_learn_tree(void);

/* The state of the profiler. Others than this room read it, and write only what its comments say.
 */

struct cp_session {
	/* Every process and each fork's child writes these, so they lie together
	 * (base/start_data.h). */
	bool process_tree_known;
	bool ending;	  /* the last files were written or are being written */
	bool finished;	  /* the helper has the files, so they aren't written again */
	unsigned windows; /* number of times that the session was toggled on */
	/* LEAVING: threads on their way into execve or out of the process. They end the collector
	 * wherever it is, so the collector begins no file meanwhile. PUT_OFF: the requests that
	 * came meanwhile; they are served if the process goes on. */
	uint32_t leaving, put_off;
	uint64_t until[CP_MAIN_MODES]; /* monotonic ns: time at which the mode ends; 0 = never */
	uint64_t push_at;  /* monotonic ns: time to start the push's helper; UINT64_MAX = never, or
			      done */
	uint64_t serve_at; /* the same for the server's helper */
	unsigned push_tries; /* number of times that there was no control socket yet */
	int follower;	     /* process id of that helper; 0 = unknown */
	bool followed; /* a helper pushes windows of this process, and the last one at its end */
	uint64_t next_checkpoint; /* monotonic ns; UINT64_MAX = none */
	struct cp_process_info facts;
	struct cp_modules modules;	     /* shared by all runs */
	struct cp_process_tree process_tree; /* a page that is hardly used is at its end */
	struct cp_config config;
	struct cp_run runs[CP_MODES];
	char paths[CP_MODES][CP_PATH_MAX]; /* of the runs */
	/* CPUPROFILE and the other variables as descendants have them; NULL = not set */
	const char *shared[CP_MAIN_MODES];
};

extern struct cp_session cp_session; /* defined in runs.c */

/* Argument of cp_collect_init. */
struct cp_collect_work;
extern const struct cp_collect_work cp_session_in_collector; /* defined in session.c */

/* threads_now.c
 *
 * Where every thread is at this moment, as a profile: one sample for each thread. Works with no
 * mode on. No thread is signalled or stopped: a waiting thread is walked from outside, as the wall
 * clock does; a running one has no stack.
 */

/* Further threads are only counted in a comment. The collector's lock is held for some 20 us per
 * thread. */
#define CP_THREADS_NOW_MAX 4096u

/* Write the profile to SINK, not compressed and without names of functions. Returns 0 or a negative
 * errno. Takes the collector's lock; twice, if a thread waits for the lock of a file, because who
 * has it is asked without the lock. The labels of a sample, those that are known:
 *
 * "thread", "tid", "state" (running; runnable: no processor is free; waiting; unknown), "syscall"
 * (its number) "wait": the cause, as in wall profiles
 *
 * "lock", "lock_kind": name or address; mutex, rwlock, condition, semaphore, barrier, libc (a lock
 * inside libc), futex (any other)
 *
 * "holder", "readers": tid of the mutex's owner or the writer; number of readers
 *
 * "joined": tid of the thread whose end is waited for
 *
 * "deadlock": number of the deadlock that the thread is a part of
 *
 * "child", "child_name": pid and name
 *
 * "fd", "kind", "target": the descriptor; the target as CPROF_IO_TARGET allows
 *
 * "locker", "locker_name": pid and name of the process that has the descriptor's lock
 *
 * "descriptors": how many poll or select waits for
 */
int cp_threads_now_write(struct cp_sink *sink);

/* Deadlocks: threads of which each waits for what the next one has, around a circle. Each waits
 * without a time limit for a lock that the next one holds, or for the next one's end.
 *
 * No mode is needed, because the locks say who has them (lock.h). Under the collector's lock. */

/* Number the deadlocks among the COUNT threads at T in their WAIT.DEADLOCK, from 1 on. A circle
 * counts only if none of its threads has run since it was seen, and each lock still says that the
 * next thread has it: then all of that is true at one moment, and can't end by itself. */
void cp_threads_now_deadlocks(struct cp_thread_look *t, size_t count);

#endif
