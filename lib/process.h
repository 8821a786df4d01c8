/* The profiler in the life of a process: how it begins and ends, forks and execs. */
#ifndef CP_PROCESS_H
#define CP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* From the constructor: read the environment; start when it asks for a mode. */
void cp_process_begin(void);
/* From the destructor and every other way out: the profile is at its path. Afterwards none of the
 * program's code runs but destructors behind ours. */
void cp_process_end(const char *when);
/* The calling thread ends with STATUS by a system call of its own, and with it the process, if it
 * has no other. */
void cp_process_thread_exit(int status);
/* The same in two parts, where more of it may run in between. */
void cp_process_write_last(const char *when);
void cp_process_leave(void);

/* Before daemon(), in which libc ends this process by itself; and after it in process PID, as the
 * first returned, or another, which goes on. Ordinary context. */
int cp_process_daemon_begin(void);
void cp_process_daemon_end(int pid);

/* Before an exec in this process or a child: writes what there is, makes signals and timers
 * inheritable; and after one that failed. */
void cp_process_exec_begin(void);
void cp_process_exec_failed(void);
/* ENVIRONMENT, of a program to be run, asks for the profiles that this process was started with, or
 * one of them. Any context. */
bool cp_process_shares(char *const *environment);
/* "_CPROF_LINEAGE=..." for the environment of a program to be run; CHILD: by another process. And
 * the room for it. */
void cp_process_lineage(char *to, size_t size, bool child);
size_t cp_process_lineage_room(void);

/* Called by fork.c in the child, after everything below it was reset. ALONE: the forking thread was
 * the program's only one. HALFWAY: another was starting or stopping modes; none is on in the child
 * then. */
void cp_process_fork_child(bool alone, bool halfway);
/* fork has returned in the child (or was not a child's: then nothing happens): a mode that works by
 * the clock has its collector again, if the program had one thread. Ordinary context. */
void cp_process_forked(void);
/* The program has made a thread: the collector is needed again where a fork ended it, and libc is
 * to know it. */
void cp_process_thread_created(void);
/* The program's calls come to our functions, those of credentials among them. In the constructor.
 */
void cp_process_is_interposed(void);

/* The program is about to be the one that adopts what outlives its parents below it. Any context.
 */
void cp_process_adopts(void);

/* Where this is a child of ours that clone() made as fork would, of which no fork handler was told:
 * nothing of it could be written, and it may be about to restrict its system calls. From here on it
 * is as if we weren't there. Before it makes a thread, and before a filter. Ordinary context, also
 * in a child that shares our memory, which is left as it is. */
void cp_process_leave_others(void);

#endif
