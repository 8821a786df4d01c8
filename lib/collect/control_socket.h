/* SPDX-License-Identifier: BSD-3-Clause */
/* The control socket: how the collector's task hears of requests from other processes
 * (base/control.h). All functions but cp_control_socket_fork_child run in the task, whose table of
 * descriptors is its own: the program sees no descriptor of the socket, and can't close one.
 *
 * What a client can cost: one connection is served at a time. It has a second to send its request,
 * and gets one reply; neither is waited for. Of a flood of connections, BURST are accepted at once,
 * and then one every EACH_NS. The kernel queues BACKLOG more and refuses the rest.
 */
#ifndef CP_CONTROL_SOCKET_H
#define CP_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/control.h"

/* Answer request M in place: M becomes the reply. FD is the descriptor that came with it, or -1.
 * Called without the collector's lock. */
typedef void cp_control_answer(struct cp_control_message *m, int fd);
/* The answer to the last request was sent, or (RECEIVED false) the client had gone. As above. */
typedef void cp_control_answered(bool received);

/* Where the socket is, too. */
struct cp_control_place {
	const char *path; /* NULL: nowhere else */
	bool owner;	  /* PATH is this process's; else it gets PATH.PID */
};

/* Open the socket, and let the task sleep with descriptors. Returns 0 or a negative errno. */
int cp_control_socket_open(void);
/* Listen at PLACE, too. Returns 0 or a negative errno. */
int cp_control_socket_add_path(const struct cp_control_place *place);
bool cp_control_socket_is_open(void);
void cp_control_socket_close(void);
/* As cp_task_sleep, and until somebody has a request. TIMEOUT: NULL = no end. */
void cp_control_socket_sleep(uint32_t *word, uint32_t seen, const struct timespec *timeout);
/* Serve those who were ready at the end of the sleep. */
void cp_control_socket_serve(cp_control_answer *answer, cp_control_answered *answered);
/* Return when cp_control_socket_serve must be called again at the latest, in monotonic ns;
 * UINT64_MAX = never. */
uint64_t cp_control_socket_due(void);
/* Return the process id of the client that is being answered, or 0 if it is out of sight. */
int cp_control_socket_peer(void);
/* In a fork child, which doesn't have the task. */
void cp_control_socket_fork_child(void);

#endif
