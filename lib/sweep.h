/* Threads that nobody announced: made by a raw clone or before us. What /proc/self/task shows is
 * compared with the records that there are. Under the collector's lock or before there
 * is a collector; raw system calls and our own pages only.
 */
#ifndef CP_SWEEP_H
#define CP_SWEEP_H

#include <stdbool.h>

/* Tasks that don't count: ours, which are no threads of the program; 0 = none. */
struct cp_sweep_ours {
	int tid[3];
};

/* Threads without a record get one at their second sight, records of such threads end with them.
 * The collector only. true: a thread was seen that the next sweep will take. */
bool cp_sweep_threads(const struct cp_sweep_ours *ours);
/* Every thread of the program that libc knows is gone (a leader that is a zombie counts as gone);
 * by the records alone where /proc cannot be read. */
bool cp_sweep_all_gone(const struct cp_sweep_ours *ours);
/* After a fork, in the child. */
void cp_sweep_fork_child(void);

#endif
