/* SPDX-License-Identifier: BSD-3-Clause */
/* The profiler as a whole: start, stop, write. process.h connects it to the life of the process. */
#ifndef CP_SESSION_H
#define CP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "settings/config.h"
#include "cprof.h"
#include "output/sink.h"

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
 * last one. Ordinary context. */
void cp_session_start_idle(void);

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
/* The same to a descriptor. Waits for the descriptor's reader without limit. */
int cp_session_dump_fd(enum cprof_mode mode, int fd);
/* Writes the heap and its companions to the next number. REASON, if not NULL, goes into their
 * comments. */
int cp_session_dump_heap(const char *reason);
/* Writes the heap as text (heap_text.h) into TO, which this function opens. */
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

#endif
