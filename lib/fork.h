/* What fork does to us. */
#ifndef CP_FORK_H
#define CP_FORK_H

/* Register with pthread_atfork, once. Ordinary context. */
void cp_fork_install(void);

#endif
