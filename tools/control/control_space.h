/* SPDX-License-Identifier: BSD-3-Clause */
/* Network namespaces: the names of abstract sockets in them, and connections to those. For
 * control.c.
 *
 * A container mostly has a namespace of its own. To connect to a socket there, a child of ours
 * joins the namespace, connects, and hands the connection over. That needs the rights of root, or
 * those of the user who made the container's user namespace.
 */
#ifndef CT_CONTROL_SPACE_H
#define CT_CONTROL_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ct_control_space {
	dev_t device;
	ino_t inode; /* of /proc/PID/ns/net */
	int pid;     /* a process in it; 0: it is ours */
};

/* Sets *S to the namespace of process PID, or to ours if that can't be known. */
void ct_control_space_of(struct ct_control_space *s, int pid);
/* The namespaces of all processes, ours first, *COUNT of them; to be freed. */
struct ct_control_space *ct_control_space_all(size_t *count);
/* Calls SEE for the abstract name, without its NUL, of each socket in S that begins with PREFIX and
 * takes connections. */
void ct_control_space_names(const struct ct_control_space *s, const char *prefix,
			    void (*see)(const char *name, unsigned long inode, void *arg),
			    void *arg);
/* Sets *USER to the user who made the socket INODE, which is in our own namespace. Returns false if
 * the kernel doesn't tell. */
bool ct_control_space_owner(unsigned long inode, unsigned *user);
/* Returns a connection to NAME in S that doesn't block, or a negative errno. Doesn't wait: -EAGAIN
 * if as many others wait as the kernel keeps. */
int ct_control_space_connect(const struct ct_control_space *s, const char *name);
/* The same as the user of process PID, for root; NAME may be a path. A process in a user namespace
 * may not know root as a user, but it knows its own. */
int ct_control_space_connect_as(const struct ct_control_space *s, const char *name, int pid);
/* So many connections wait at most, and one more. */
#define CT_CONTROL_SPACE_BACKLOG 128
/* Returns a socket that doesn't block and listens at NAME in S, or a negative errno. */
int ct_control_space_listen(const struct ct_control_space *s, const char *name);

/* Sends a message over socket TO, with descriptor PASSED unless that is negative. Returns 0 or a
 * negative errno. */
int ct_control_space_send(int to, const void *message, size_t size, int passed);

/* Connects to the socket at PATH in the file system, as ct_control_space_connect does. */
int ct_control_space_connect_path(const char *path);

#endif
