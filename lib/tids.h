/* Records by thread id, for who looks for many of them: cp_thread_of looks at all records for each.
 * The collector only.
 */
#ifndef CP_TIDS_H
#define CP_TIDS_H

struct cp_thread;

/* What is live now can be found from here on. */
void cp_tids_read(void);
/* The live record of thread TID, if it was one at the last reading; or NULL. */
struct cp_thread *cp_tids_find(int tid);
/* After a fork, in the child: none can be found. */
void cp_tids_fork_child(void);

#endif
