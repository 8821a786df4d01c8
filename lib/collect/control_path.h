/* SPDX-License-Identifier: BSD-3-Clause */
/* A control socket with a path in the file system, for clients in another network namespace. */
#ifndef CP_CONTROL_PATH_H
#define CP_CONTROL_PATH_H

#include <stdbool.h>

#include "settings/config_fields.h"

/* Bind socket FD to PATH, or to PATH.PID if UNIQUE is false or a process listens at PATH, and make
 * it listen with BACKLOG. The file is there when the socket listens; its mode is 0600. A socket
 * that nobody listens at, left by a process that was killed, is replaced if it is this user's.
 * Returns 0; -EEXIST: there is another file; or a negative errno. In the collector's task, which
 * must have its own table of descriptors. */
int cp_control_path_bind(int fd, const char *path, bool unique, int backlog);
/* Remove the file, if it is still that of the last bind. Any context; no libc. */
void cp_control_path_remove(void);
/* The same, until the next bind. Under the collector's lock, which each bind has, too: so the file
 * is gone when the process ends or becomes another program. */
void cp_control_path_withdraw(void);
/* No further bind is to be tried after cp_control_path_withdraw. */
void cp_control_path_give_up(void);
/* Return true after cp_control_path_withdraw, until the next bind. */
bool cp_control_path_is_withdrawn(void);
/* In a fork child: the file is the parent's. */
void cp_control_path_fork_child(void);

#endif
