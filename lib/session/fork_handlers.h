/* SPDX-License-Identifier: BSD-3-Clause */
/* The profiler's reaction to fork. */
#ifndef CP_FORK_HANDLERS_H
#define CP_FORK_HANDLERS_H

/* Registers with pthread_atfork, once. Ordinary context. */
void cp_fork_handlers_install(void);

#endif
