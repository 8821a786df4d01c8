/* SPDX-License-Identifier: BSD-3-Clause */
/* Thread-local storage for a task without a libc thread.
 *
 * The pipeline runs in such a task (worker.h). Through the thread pointer it reads the profiler's
 * own variables, the stack protector's secret and, when demangling gives up on a name, the secret
 * of jump buffers; a libc function that fails writes errno. So this TLS has the layout of libc's
 * static TLS of a thread for these parts; the rest is zero. A debugger finds an empty thread
 * descriptor. There is no vector of dynamic TLS: no code in the task uses any
 * (tests/checks/tls.sh).
 *
 * Call in the thread that makes the task. One task uses the TLS at a time.
 */
#ifndef CP_TASK_TLS_H
#define CP_TASK_TLS_H

/* Return a thread pointer, with TLS as after the start of a thread; NULL if memory is exhausted. */
void *cp_task_tls_make(void);

#endif
