/* SPDX-License-Identifier: BSD-3-Clause */
/* One request over a connection to a process. For control.c and control_each.c. */
#ifndef CT_CONTROL_TALK_H
#define CT_CONTROL_TALK_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/control.h"
#include "control/control_space.h"

/* How long processes that are only listed are waited for, all together, so that a list takes less
 * than a second. Also how long one is waited for whose queue of connections is full. */
#define CT_CONTROL_GLANCE_MS 900

/* Sends request M over FD, with descriptor PASSED unless that is -1. Returns 0 or a negative errno:
 * -ECONNRESET if the process has closed the connection. */
int ct_control_talk_send(int fd, const struct cp_control_message *m, int passed);
/* Receives the reply, which is there, and checks it. Returns 0 or a negative errno: -ECONNRESET if
 * the process closed the connection without a reply, -EBADMSG if the reply is none. */
int ct_control_talk_receive(int fd, struct cp_control_message *m);
/* Between two attempts to connect to it. */
#define CT_CONTROL_RETRY_MS 20

/* The other end of a connection. */
struct ct_control_end {
	struct ct_control_space space;
	char name[112]; /* of the socket: abstract, without its NUL, or a path */
	struct ucred owner;
};

/* Connects to process PID, or to the path that it stands for, and sets *E. Doesn't wait. Returns
 * the descriptor; -EAGAIN: its queue of connections is full, or that of a socket that somebody has
 * named so; or a negative errno. */
int ct_control_talk_connect(int pid, struct ct_control_end *e);
/* Connects to the name in *E, in its space, as above. A process at the other end that is in sight
 * must have that name, and be this user's, unless this is root: others don't answer. */
int ct_control_talk_connect_name(struct ct_control_end *e);
/* Connects again as the owner of E, for root, whom a process in a user namespace may not know. */
int ct_control_talk_connect_as_owner(const struct ct_control_end *e);
/* Is E's process in another user namespace? */
bool ct_control_talk_is_elsewhere(const struct ct_control_end *e);
/* Monotonic milliseconds. */
long long ct_control_talk_now(void);

#endif
