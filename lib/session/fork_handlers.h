/* SPDX-License-Identifier: BSD-3-Clause */
/* The profiler's reaction to fork. */
#ifndef CP_FORK_HANDLERS_H
#define CP_FORK_HANDLERS_H

/* Register with pthread_atfork. Call in the constructor: later it may allocate. */
void cp_fork_handlers_install(void);
/* From now on the handlers act, because a session begins. Any context. */
void cp_fork_handlers_begin(void);

#endif
