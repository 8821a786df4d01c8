/* SPDX-License-Identifier: BSD-3-Clause */
/* Abstract sockets of network namespaces; see control_space.h. */
#include "control/control_space.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.h"

/* Of __SO_ACCEPTCON: the socket takes connections. */
#define LISTENS 0x10000u

static bool look(struct ct_control_space *s, const char *process)
{
	char *path = ct_memory_printf("/proc/%s/ns/net", process);
	struct stat st;
	bool there = !stat(path, &st);

	free(path);
	if (there)
		*s = (struct ct_control_space){ st.st_dev, st.st_ino, atoi(process) };
	return there;
}

static bool same(const struct ct_control_space *a, const struct ct_control_space *b)
{
	return a->device == b->device && a->inode == b->inode;
}

static struct ct_control_space own(void)
{
	struct ct_control_space s = { 0 };

	look(&s, "self");
	s.pid = 0;
	return s;
}

void ct_control_space_of(struct ct_control_space *s, int pid)
{
	struct ct_control_space ours = own();
	char *process = ct_memory_printf("%d", pid);

	if (!look(s, process) || same(s, &ours))
		*s = ours;
	free(process);
}

struct ct_control_space *ct_control_space_all(size_t *count)
{
	struct ct_control_space *all = NULL, s;
	size_t room = 0, n = 0, i;
	DIR *d = opendir("/proc");
	struct dirent *e;

	*CT_PUSH(all, n, room) = own();
	while (d && (e = readdir(d))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9' || !look(&s, e->d_name))
			continue;
		for (i = 0; i < n && !same(&all[i], &s); i++)
			;
		if (i == n)
			*CT_PUSH(all, n, room) = s;
	}
	if (d)
		closedir(d);
	*count = n;
	return all;
}

void ct_control_space_names(const struct ct_control_space *s, const char *prefix,
			    void (*see)(const char *name, void *arg), void *arg)
{
	char *path = s->pid ? ct_memory_printf("/proc/%d/net/unix", s->pid)
			    : ct_memory_strdup("/proc/self/net/unix");
	FILE *f = fopen(path, "re");
	char line[512];
	unsigned flags;
	int at;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		at = 0; /* stays so for a socket with a path, or without a name */
		/* Address, references, protocol, flags, type, state, inode, name. */
		if (sscanf(line, "%*s %*x %*x %x %*x %*x %*u @%n", &flags, &at) == 1 && at &&
		    (flags & LISTENS) && line[at - 1] == '@' &&
		    !strncmp(line + at, prefix, strlen(prefix)))
			see(line + at, arg);
	}
	if (f)
		fclose(f);
	free(path);
}

/* ADDRESS has N bytes of name. */
static int connect_to(const struct sockaddr_un *address, size_t n)
{
	const struct timeval patience = { .tv_sec = 5 };
	int fd;

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Waits while as many others wait as the kernel keeps; then -EAGAIN. */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!connect(fd, (const struct sockaddr *)address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) &&
	    !fcntl(fd, F_SETFL, O_NONBLOCK))
		return fd;
	n = (size_t)errno;
	close(fd);
	return -(int)n;
}

static int connect_here(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = strlen(name);

	if (n + 1 > sizeof(a.sun_path))
		return -ENAMETOOLONG;
	memcpy(a.sun_path + 1, name, n);
	return connect_to(&a, n + 1);
}

static int listen_here(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = strlen(name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err = 0;

	if (fd < 0)
		return -errno;
	if (n + 1 > sizeof(a.sun_path)) {
		err = -ENAMETOOLONG;
	} else {
		memcpy(a.sun_path + 1, name, n);
		if (bind(fd, (struct sockaddr *)&a,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) ||
		    listen(fd, CT_CONTROL_SPACE_BACKLOG))
			err = -errno;
	}
	if (!err)
		return fd;
	close(fd);
	return err;
}

int ct_control_space_connect_path(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = strlen(path);

	if (n + 1 > sizeof(a.sun_path))
		return -ENAMETOOLONG;
	memcpy(a.sun_path, path, n);
	return connect_to(&a, n + 1);
}

/* ---- in a child ---- */

static int open_namespace(int pid, const char *kind)
{
	char *path = ct_memory_printf("/proc/%d/ns/%s", pid, kind);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	free(path);
	return fd;
}

/* Becomes the user of process PID, who is known in its user namespace, as root of this one may not
 * be. */
static void become_user(int pid)
{
	char *path = ct_memory_printf("/proc/%d/status", pid), line[256];
	FILE *f = fopen(path, "re");
	unsigned uid = 0, gid = 0;

	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "Uid: %*u %u", &uid);
		sscanf(line, "Gid: %*u %u", &gid);
	}
	if (f)
		fclose(f);
	free(path);
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return;
}

/* Joins the network namespace of process PID: by our own rights, or by those in its user namespace.
 * Returns 0 or a negative errno. */
static int join(int pid)
{
	int net = open_namespace(pid, "net"), user = open_namespace(pid, "user");

	if (net < 0)
		return -errno;
	if (!setns(net, CLONE_NEWNET)) {
		become_user(pid);
		return 0;
	}
	if (user < 0 || setns(user, CLONE_NEWUSER) || setns(net, CLONE_NEWNET))
		return -errno;
	return 0;
}

static void send_fd(int to, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec data = { &fd, sizeof(fd) }; /* a negative one is the error */
	struct msghdr h = { .msg_iov = &data, .msg_iovlen = 1 };

	if (fd >= 0) {
		h.msg_control = &control;
		h.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	sendmsg(to, &h, MSG_NOSIGNAL);
}

static int receive_fd(int from)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	int answer = -EIO;
	struct iovec data = { &answer, sizeof(answer) };
	struct msghdr h = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };

	if (recvmsg(from, &h, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(answer))
		return -EIO;
	if (answer >= 0 && CMSG_FIRSTHDR(&h))
		memcpy(&answer, CMSG_DATA(CMSG_FIRSTHDR(&h)), sizeof(answer));
	return answer;
}

/* Returns what MAKE returns in S. */
static int make_in(const struct ct_control_space *s, const char *name,
		   int (*make)(const char *name))
{
	int pair[2], fd = -EIO;
	pid_t child;

	if (!s->pid)
		return make(name);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	child = fork();
	if (!child) {
		int err = join(s->pid);

		send_fd(pair[1], err ? err : make(name));
		_exit(0);
	}
	close(pair[1]);
	if (child > 0) {
		fd = receive_fd(pair[0]);
		waitpid(child, NULL, 0);
	}
	close(pair[0]);
	return fd;
}

int ct_control_space_connect(const struct ct_control_space *s, const char *name)
{
	return make_in(s, name, connect_here);
}

int ct_control_space_listen(const struct ct_control_space *s, const char *name)
{
	return make_in(s, name, listen_here);
}
