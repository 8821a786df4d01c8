/* The profiler as a whole: start, stop, write, and what it does at fork, exec and exit. */
#ifndef CP_SESSION_H
#define CP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "cprof.h"

/* From the constructor: read the environment; start when it asks for a mode. */
void cp_session_begin_process(void);
/* From the destructor and every other way out: the profile is at its path. */
void cp_session_end_process(const char *when);

/* Start with C. 0; -EALREADY when one runs; what the paths or the kernel gave. Ordinary context. */
int cp_session_start(const struct cp_config *c);
/* Stop, write the profile, forget what was collected. 0; -ESRCH when none runs; the write's error.
 */
int cp_session_stop(void);

/* A mode is on (it may be toggled off). Any context. */
bool cp_session_active(void);
/* It is on, and this is the process that it belongs to: not the child of a vfork, which shares
 * our memory, nor one that a raw clone made. Any context. */
bool cp_session_is_ours(void);

/* Write the file at the run's own path, whatever locks are held. Any context. */
void cp_session_write(const char *when);
/* The same, or to a path, a descriptor, the next number (PATH NULL and FD < 0). 0 or a
 * negative errno. */
int cp_session_dump(const char *path, int fd);

/* Before an exec in this process or a child: writes what there is, makes signals and timers
 * inheritable; and after one that failed. */
void cp_session_exec_begin(void);
void cp_session_exec_failed(void);
/* CPU_PATH, the CPUPROFILE of a program to be run, is what this process was started with. Any
 * context. */
bool cp_session_shares(const char *cpu_path);
/* This is the process that was started, or a fork that told us; not the child of a vfork.
 * Whether a mode is on doesn't matter. Any context. */
bool cp_session_is_this_process(void);
/* "_CPROF_LINEAGE=..." for the environment of a program to be run; CHILD: by another process. */
void cp_session_lineage(char *to, size_t size, bool child);

/* Before a module goes away: what the rings hold gets its identity. */
void cp_session_drain(void);
/* The caller needs to be the only thread (unshare, setns): ours ends, and comes back. */
void cp_session_park(bool park);
/* The program is about to forbid system calls: write, and become inert. */
void cp_session_retire(const char *why);

void cp_session_stats(struct cprof_stats *s);

/* Called by fork.c in the child, after everything below it was reset. */
void cp_session_fork_child(void);
/* The program makes a thread: the collector is needed again where a fork ended it. */
void cp_session_thread_created(void);

#endif
