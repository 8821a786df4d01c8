/* SPDX-License-Identifier: BSD-3-Clause */
/* An index of thread records by thread id, for callers that look up many of them; cp_thread_of
 * searches all records for each. The collector only.
 */
#ifndef CP_TIDS_H
#define CP_TIDS_H

struct cp_thread;

/* Read the live records into the index. */
void cp_tids_read(void);
/* Return the live record of thread TID if it was live at the last reading; otherwise NULL. */
struct cp_thread *cp_tids_find(int tid);
/* Empty the index in a fork child. */
void cp_tids_fork_child(void);

#endif
