/* SPDX-License-Identifier: BSD-3-Clause */
/* See last_window.h. */
#include "control/last_window.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/control.h"
#include "control/control_profile.h"
#include "control/control_space.h"

#define NAME_ROOM 64

int ct_last_window_listen(int pid, uint64_t number)
{
	struct ct_control_space space;
	char name[NAME_ROOM];
	int fd;

	pid = ct_control_pid(pid);
	if (!pid)
		return -1;
	ct_control_space_of(&space, pid);
	snprintf(name, sizeof(name), CP_CONTROL_LAST "%lx", (unsigned long)number);
	fd = ct_control_space_listen(&space, name);
	return fd < 0 ? -1 : fd;
}

/* The name can be seen by everybody in the namespace. */
static bool is_from(int fd, int pid)
{
	struct ucred c;
	socklen_t n = sizeof(c);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n))
		return false;
	return c.uid == geteuid() || c.pid == ct_control_pid(pid);
}

/* Returns the descriptor that came with a message, or -1. MODE is its text. */
static int receive(int from, char mode[NAME_ROOM])
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = { mode, NAME_ROOM - 1 };
	struct msghdr h = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(from, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&h) : NULL;
	int fd = -1;

	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	mode[n > 0 ? n : 0] = '\0';
	return fd;
}

void ct_last_window_receive(int fd, int pid,
			    void (*see)(const char *mode, struct ct_profile *p, void *arg),
			    void *arg)
{
	int from;

	while (fd >= 0 && (from = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		char mode[NAME_ROOM], *why = NULL;
		int file = is_from(from, pid) ? receive(from, mode) : -1;
		struct ct_profile *p = file >= 0 ? ct_control_profile_read(file, &why) : NULL;

		if (p)
			see(mode, p, arg);
		free(why);
		if (file >= 0)
			close(file);
		close(from);
	}
}
