/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives the last windows of a process; see control.h. */
#include "control/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_ROOM 64
/* Number of connections that are held, and received from, at once. A process sends a window of the
 * mode and one of each companion at its end, and before each exec, also before one that fails. The
 * others wait in the kernel's queue. */
#define HELD 8
/* As many connections as one look accepts: nobody can keep us busy by connecting without end. */
#define ACCEPTED_AT_ONCE (4 * CT_CONTROL_SPACE_BACKLOG)

struct ct_last_window {
	int fd;
	int pid;
	/* Connections from the process, and from other processes of our user. The message may come
	 * later. */
	int held[HELD];
	unsigned count;
};

struct ct_last_window *ct_last_window_listen(int pid, uint64_t number)
{
	struct ct_control_space space;
	struct ct_last_window *l;
	char name[NAME_ROOM];
	int fd;

	pid = ct_control_pid(pid);
	if (!pid)
		return NULL;
	ct_control_space_of(&space, pid);
	snprintf(name, sizeof(name), CP_CONTROL_LAST "%lx", (unsigned long)number);
	fd = ct_control_space_listen(&space, name);
	if (fd < 0)
		return NULL;
	l = ct_memory_alloc(sizeof(*l));
	l->fd = fd;
	l->pid = pid;
	return l;
}

/* Everybody in the namespace can see the name, so the sender is checked. */
static bool is_from(int fd, int pid)
{
	struct ucred c;
	socklen_t n = sizeof(c);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n))
		return false;
	return c.uid == geteuid() || c.pid == pid;
}

void ct_last_window_turn_away(struct ct_last_window *l)
{
	int from;

	for (int i = 0; l && i < ACCEPTED_AT_ONCE && l->count < HELD; i++) {
		from = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
		if (from < 0)
			break;
		if (is_from(from, l->pid))
			l->held[l->count++] = from;
		else
			close(from);
	}
}

/* Returns false if the message isn't there yet. Sets *FD to the descriptor that came with it, or
 * -1, and MODE to its text. */
static bool receive_window(int from, char mode[NAME_ROOM], int *fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = { mode, NAME_ROOM - 1 };
	/* With CMSG_SPACE() bytes the kernel would use the padding for a second descriptor. */
	struct msghdr h = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t n = recvmsg(from, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&h) : NULL;

	*fd = -1;
	if (n < 0 && errno == EAGAIN)
		return false;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(*fd)))
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	mode[n > 0 ? n : 0] = '\0';
	return true;
}

/* Returns false if the window is still being sent. */
static bool receive_from(int from, void (*see)(const char *mode, struct ct_profile *p, void *arg),
			 void *arg)
{
	char mode[NAME_ROOM], *why = NULL;
	struct ct_profile *p;
	int file;

	if (!receive_window(from, mode, &file))
		return false;
	p = file >= 0 ? ct_control_profile_read(file, &why) : NULL;
	if (p)
		see(mode, p, arg);
	free(why);
	if (file >= 0)
		close(file);
	return true;
}

void ct_last_window_receive(struct ct_last_window *l,
			    void (*see)(const char *mode, struct ct_profile *p, void *arg),
			    void *arg)
{
	unsigned found = HELD;

	for (int i = 0; l && found == HELD && i < ACCEPTED_AT_ONCE / HELD; i++) {
		ct_last_window_turn_away(l);
		found = l->count;
		l->count = 0;
		for (unsigned k = 0; k < found; k++) {
			if (receive_from(l->held[k], see, arg))
				close(l->held[k]);
			else
				l->held[l->count++] = l->held[k];
		}
	}
}

void ct_last_window_add(struct ct_profile **all, struct ct_profile *p)
{
	struct ct_profile *both[2] = { *all, p }, *sum;

	if (!*all) {
		*all = p;
		return;
	}
	/* A mode may have begun anew with other types, which can't be added. */
	sum = ct_combine(both, 2);
	if (sum) {
		ct_model_free(*all);
		*all = sum;
	}
	ct_model_free(p);
}

void ct_last_window_close(struct ct_last_window *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < l->count; i++)
		close(l->held[i]);
	close(l->fd);
	free(l);
}
