/* SPDX-License-Identifier: BSD-3-Clause */
/* Abstract sockets of network namespaces; see control.h. */
#include "control/control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* The flag __SO_ACCEPTCON: the socket takes connections. */
#define LISTENS 0x10000u
/* UDIAG_SHOW_UID and UNIX_DIAG_UID, which older headers lack. */
#define SHOW_USER 0x40u
#define USER 7

static bool look_at_process(struct ct_control_space *s, const char *process)
{
	char *path = ct_memory_printf("/proc/%s/ns/net", process);
	struct stat st;
	bool there = !stat(path, &st);

	free(path);
	if (there)
		*s = (struct ct_control_space){ st.st_dev, st.st_ino, atoi(process) };
	return there;
}

static bool same_space(const struct ct_control_space *a, const struct ct_control_space *b)
{
	return a->device == b->device && a->inode == b->inode;
}

static struct ct_control_space own(void)
{
	struct ct_control_space s = { 0 };

	look_at_process(&s, "self");
	s.pid = 0;
	return s;
}

void ct_control_space_of(struct ct_control_space *s, int pid)
{
	struct ct_control_space ours = own();
	char *process = ct_memory_printf("%d", pid);

	if (!look_at_process(s, process) || same_space(s, &ours))
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
		if (e->d_name[0] < '1' || e->d_name[0] > '9' || !look_at_process(&s, e->d_name))
			continue;
		for (i = 0; i < n && !same_space(&all[i], &s); i++)
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
			    void (*see)(const char *name, unsigned long inode, void *arg),
			    void *arg)
{
	char *path = s->pid ? ct_memory_printf("/proc/%d/net/unix", s->pid)
			    : ct_memory_strdup("/proc/self/net/unix");
	FILE *f = fopen(path, "re");
	char line[512];
	unsigned long inode;
	unsigned flags;
	int at;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		at = 0; /* a socket with a path, or without a name, leaves it so */
		/* Address, references, protocol, flags, type, state, inode, name. */
		if (sscanf(line, "%*s %*x %*x %x %*x %*x %lu @%n", &flags, &inode, &at) == 2 &&
		    at && (flags & LISTENS) && line[at - 1] == '@' &&
		    !strncmp(line + at, prefix, strlen(prefix)))
			see(line + at, inode, arg);
	}
	if (f)
		fclose(f);
	free(path);
}

/* Asks the kernel's table of sockets (linux/unix_diag.h), which newer kernels let everybody read.
 */
bool ct_control_space_owner(unsigned long inode, unsigned *user)
{
	const struct timeval patience = { .tv_usec = 100000 };
	struct {
		struct nlmsghdr head;
		struct unix_diag_req what;
	} q = { .head = { .nlmsg_len = sizeof(q),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.what = { .sdiag_family = AF_UNIX,
			  .udiag_states = ~0u,
			  .udiag_ino = (uint32_t)inode,
			  .udiag_show = SHOW_USER,
			  .udiag_cookie = { ~0u, ~0u } } };
	union {
		struct nlmsghdr head;
		char bytes[1024];
	} a;
	size_t at = NLMSG_LENGTH(sizeof(struct unix_diag_msg));
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t got = -1;
	bool found = false;

	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q))
		got = recv(fd, &a, sizeof(a), 0);
	close(fd);
	if (got < (ssize_t)sizeof(a.head) || a.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return false;
	for (struct nlattr n; !found && at + sizeof(n) <= (size_t)got;
	     at += NLMSG_ALIGN(n.nla_len)) {
		memcpy(&n, a.bytes + at, sizeof(n));
		if (n.nla_len < sizeof(n))
			break;
		found = n.nla_type == USER && at + sizeof(n) + sizeof(*user) <= (size_t)got;
		if (found)
			memcpy(user, a.bytes + at + sizeof(n), sizeof(*user));
	}
	return found;
}

/* ADDRESS has a name of N bytes. */
static int connect_to(const struct sockaddr_un *address, size_t n)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)))
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

int ct_control_space_send(int to, const void *message, size_t size, int passed)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec data = { (void *)message, size };
	struct msghdr h = { .msg_iov = &data, .msg_iovlen = 1 };

	if (passed >= 0) {
		h.msg_control = &control;
		h.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(passed));
		memcpy(CMSG_DATA(&control.header), &passed, sizeof(passed));
	}
	return sendmsg(to, &h, MSG_NOSIGNAL) < 0 ? -errno : 0;
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

/* Becomes the user of process PID. That user exists in PID's user namespace; our root may not. */
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
 * Returns 0 or a negative errno. AS: becomes the user of that process. */
static int join_space(int pid, int as)
{
	int net = open_namespace(pid, "net"), user = open_namespace(pid, "user");

	if (net < 0)
		return -errno;
	if (!setns(net, CLONE_NEWNET)) {
		become_user(as);
		return 0;
	}
	if (user < 0 || setns(user, CLONE_NEWUSER) || setns(net, CLONE_NEWNET))
		return -errno;
	return 0;
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

/* Returns what MAKE returns in S, as the user of process AS unless that is 0. */
static int make_in(const struct ct_control_space *s, const char *name,
		   int (*make)(const char *name), int as)
{
	int pair[2], fd = -EIO;
	pid_t child;

	if (!s->pid && !as)
		return make(name);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	child = fork();
	if (!child) {
		int err = s->pid ? join_space(s->pid, as ? as : s->pid) : 0;

		if (!s->pid)
			become_user(as);
		err = err ? err : make(name);
		ct_control_space_send(pair[1], &err, sizeof(err), err);
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
	return make_in(s, name, connect_here, 0);
}

int ct_control_space_connect_as(const struct ct_control_space *s, const char *name, int pid)
{
	const struct ct_control_space here = { .pid = 0 };

	return *name == '/' ? make_in(&here, name, ct_control_space_connect_path, pid)
			    : make_in(s, name, connect_here, pid);
}

int ct_control_space_listen(const struct ct_control_space *s, const char *name)
{
	return make_in(s, name, listen_here, 0);
}
