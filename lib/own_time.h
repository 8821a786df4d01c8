/* CPU time of the process that is ours and not the program's, outside of handlers and hooks: the
 * collector's task, all of it, its sleeps and wake-ups too; and drains and dumps that a thread of
 * the program does in its place.
 */
#ifndef CP_OWN_TIME_H
#define CP_OWN_TIME_H

#include <stdint.h>

/* In the collector's task, around all it does. */
void cp_own_time_task_begin(void);
void cp_own_time_task_end(void);

/* Around every drain and dump, under the collector's lock, on the thread that does it. */
void cp_own_time_work_begin(void);
void cp_own_time_work_end(void);

/* Until now, in ns. Under the collector's lock. */
uint64_t cp_own_time(void);

/* In the child of a fork, whose clocks begin anew: nothing yet. */
void cp_own_time_fork_child(void);

#endif
