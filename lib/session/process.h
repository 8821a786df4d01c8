/* SPDX-License-Identifier: BSD-3-Clause */
/* The profiler in the life of a process: its start, end, forks and execs. */
#ifndef CP_PROCESS_H
#define CP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

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
/* Returns whether there is such a profile at all. */
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
/* Called after the program has created a thread. The collector is needed again if a fork ended it,
 * and it must be a thread that libc knows. */
void cp_process_thread_created(void);
/* Called in the constructor: the program's calls, those that change credentials included, reach
 * the profiler's functions. */
void cp_process_is_interposed(void);

/* Called before the program asks for a message queue's notification (worker.h). Ordinary
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

#endif
