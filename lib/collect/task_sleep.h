/* SPDX-License-Identifier: BSD-3-Clause */
/* The sleep of the collector's task, and its end by a request of another thread.
 *
 * Without descriptors the task waits for a futex. With descriptors it waits in ppoll, which a futex
 * can't end, nor can a write to a descriptor: the other threads have another table of descriptors.
 * So a thread that wakes the task sends it a signal, which the task has blocked and takes from a
 * signalfd. The signal is 33, which glibc keeps for setuid in threads: the program can't block it
 * or wait for it, so no signal of the program is ever taken. libc's handler ignores a signal 33
 * that is not sent by tgkill.
 */
#ifndef CP_TASK_SLEEP_H
#define CP_TASK_SLEEP_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The room that cp_task_sleep needs before the caller's own entries. */
#define CP_TASK_SLEEP_OWN 1

/* Let the calling task sleep with descriptors from now on. Returns 0 or a negative errno. */
int cp_task_sleep_begin(void);
/* Forget that: in the task, before it ends or waits for the futex again. */
void cp_task_sleep_end(void);
/* Sleep until TIMEOUT is over (NULL: no end), WORD isn't SEEN any more, or one of COUNT FDS is
 * ready; the first CP_TASK_SLEEP_OWN of these are set here. */
void cp_task_sleep(uint32_t *word, uint32_t seen, const struct timespec *timeout,
		   struct pollfd *fds, unsigned count);
/* End the task's sleep, after WORD was changed. Any context. */
void cp_task_sleep_wake(uint32_t *word);
/* In a fork child, which has no such task. */
void cp_task_sleep_fork_child(void);

#endif
