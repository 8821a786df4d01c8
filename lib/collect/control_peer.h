/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides who may ask something of this process over its control socket. */
#ifndef CP_CONTROL_PEER_H
#define CP_CONTROL_PEER_H

#include <stdbool.h>

/* Return true if the other end of connection FD may ask: root, or a process of the same user and
 * group as the calling task. As for ptrace, all user and group ids of the process must be the
 * peer's, and the process must have no capabilities: it could else do for the peer what the peer
 * may not do. The collector's task has the ids that the program has at that moment. Any context. */
bool cp_control_peer_may_ask(int fd);

/* Return the process id at the other end of connection FD, or 0 if it is out of sight. */
int cp_control_peer_pid(int fd);

#endif
