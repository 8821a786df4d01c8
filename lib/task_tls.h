/* Thread-local storage for a task that has no thread of libc's.
 *
 * The pipeline runs in such a task (worker.h). By the thread pointer it reads our own variables,
 * the stack protector's secret and, when a mangled name is given up, the jump buffers'; a function
 * of libc's that fails writes errno. So what is made here is laid out as libc lays out a thread's
 * static TLS, as far as these; the rest of it is zero. A debugger finds an empty thread descriptor.
 * There is no vector of dynamic TLS: nothing that the task runs has any (tests/checks/tls.sh).
 *
 * Called by the thread that makes the task; one task uses it at a time.
 */
#ifndef CP_TASK_TLS_H
#define CP_TASK_TLS_H

/* A thread pointer, as after a start of a thread; NULL: no memory. */
void *cp_task_tls_make(void);

#endif
