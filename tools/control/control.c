/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks profiled processes over their control sockets; see control.h. */
#include "control/control.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/memory.h"
#include "control/control_space.h"

/* A process may be writing a large profile, or be stopped. */
#define PATIENCE_MS 10000
/* A process that is only listed. */
#define GLANCE_MS 1000

/* The paths that were given. A process with a path has the number -1 - its index. */
static struct {
	const char **items;
	size_t count, room;
} paths;

int ct_control_process(const char *text)
{
	if (*text == '/') {
		*CT_PUSH(paths.items, paths.count, paths.room) = text;
		return -(int)paths.count;
	}
	return strlen(text) < 10 && !text[strspn(text, "0123456789")] ? atoi(text) : 0;
}

const char *ct_control_name(int pid)
{
	static char names[4][16];
	static unsigned next;
	char *name = names[next++ % 4];

	if (pid < 0)
		return paths.items[-1 - pid];
	snprintf(name, sizeof(names[0]), "%d", pid);
	return name;
}

void ct_control_request(struct cp_control_message *m, enum cp_control_request request)
{
	*m = (struct cp_control_message){ .magic = CP_CONTROL_MAGIC,
					  .version = CP_CONTROL_VERSION,
					  .request = (uint16_t)request };
}

void ct_control_line(struct cp_control_message *m, const char *key, const char *value)
{
	char *line = ct_memory_printf("%s=%s", key, value);
	size_t n;

	for (char *at = line; (at = strchr(at, '\n'));)
		memmove(at, at + 1, strlen(at));
	n = strlen(line);
	if (n < CP_CONTROL_TEXT - m->size) {
		memcpy(m->text + m->size, line, n);
		m->text[m->size + n] = '\n';
		m->size += (uint32_t)n + 1;
	}
	free(line);
}

void ct_control_nanoseconds(struct cp_control_message *m, double seconds)
{
	char *text = ct_memory_printf("%.0f", seconds * 1e9);

	ct_control_line(m, "for_ns", text);
	free(text);
}

/* Who listens at the other end of FD? The name alone proves nothing: everybody may take it. */
static struct ucred listener_of(int fd)
{
	struct ucred c = { 0, (uid_t)-1, (gid_t)-1 };
	socklen_t size = sizeof(c);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &size);
	return c;
}

static int send_request(int to, const struct cp_control_message *m, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec data = { (void *)m, CP_CONTROL_HEADER + m->size };
	struct msghdr h = { .msg_iov = &data, .msg_iovlen = 1 };

	if (fd >= 0) {
		h.msg_control = &control;
		h.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	return sendmsg(to, &h, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Sends M over FD, waits for the reply, and checks it. Returns 0 or a negative errno: -ECONNRESET
 * if the process closed the connection without a reply, -EBADMSG if the reply is none. */
static int talk(int fd, struct cp_control_message *m, int passed, int patience)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int err = send_request(fd, m, passed);
	ssize_t got;

	if (err == -EPIPE)
		return -ECONNRESET;
	if (err)
		return err;
	if (poll(&p, 1, patience) == 0)
		return -ETIMEDOUT;
	got = recv(fd, m, sizeof(*m), 0);
	if (got <= 0)
		return got == 0 ? -ECONNRESET : -errno;
	if ((size_t)got < CP_CONTROL_HEADER || m->magic != CP_CONTROL_MAGIC)
		return -EBADMSG;
	if (m->version != CP_CONTROL_VERSION)
		return -EPROTO;
	return m->size <= CP_CONTROL_TEXT && (size_t)got == CP_CONTROL_HEADER + m->size ? 0
											: -EBADMSG;
}

/* ---- all processes ---- */

struct all {
	const struct ct_control_space *space;
	void (*see)(const struct ct_controlled *p, const struct cp_control_message *status,
		    void *arg);
	void *arg;
};

static void see_name(const char *name, void *arg)
{
	const struct all *a = arg;
	struct cp_control_message m;
	struct ucred c;
	int fd = ct_control_space_connect(a->space, name);

	if (fd < 0)
		return;
	c = listener_of(fd);
	ct_control_request(&m, CP_CONTROL_STATUS);
	if ((!geteuid() || c.uid == geteuid()) && !talk(fd, &m, -1, GLANCE_MS))
		a->see(&(struct ct_controlled){ c.pid, c.uid, (char *)name, a->space }, &m, a->arg);
	close(fd);
}

void ct_control_each(void (*see)(const struct ct_controlled *p,
				 const struct cp_control_message *status, void *arg),
		     void *arg)
{
	size_t count;
	struct ct_control_space *spaces = ct_control_space_all(&count);

	for (size_t i = 0; i < count; i++) {
		struct all a = { &spaces[i], see, arg };

		ct_control_space_names(&spaces[i], CP_CONTROL_NAME, see_name, &a);
	}
	free(spaces);
}

/* ---- one process ---- */

/* How the process and its container call PID: "NSpid:\t812\t1". */
#define LEVELS 32

struct one {
	const struct ct_control_space *space;
	int pid, names[LEVELS], count;
	int fd;	   /* the connection, or -1 */
	bool busy; /* others are asking, and too many */
};

static void read_names(struct one *o)
{
	char *path = ct_memory_printf("/proc/%d/status", o->pid), line[512], *at, *end;
	FILE *f = fopen(path, "re");

	o->names[o->count++] = o->pid;
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		for (at = line + 6; o->count < LEVELS; at = end) {
			long n = strtol(at, &end, 10);

			if (end == at)
				break;
			o->names[o->count++] = (int)n;
		}
	}
	if (f)
		fclose(f);
	free(path);
}

static void try_name(const char *name, void *arg)
{
	struct one *o = arg;
	char *end;
	long n = strtol(name + strlen(CP_CONTROL_NAME), &end, 10);
	int i = 0;

	if (*end && *end != '.')
		return;
	while (i < o->count && o->names[i] != n)
		i++;
	if (i == o->count || o->fd >= 0)
		return;
	o->fd = ct_control_space_connect(o->space, name);
	o->busy |= o->fd == -EAGAIN;
	if (o->fd >= 0 && listener_of(o->fd).pid != o->pid) {
		close(o->fd);
		o->fd = -1;
	}
}

/* Does process PID have the library loaded? -1: that can't be looked at. */
static int has_library(int pid)
{
	char *path = ct_memory_printf("/proc/%d/maps", pid), line[4200];
	FILE *f = fopen(path, "re");
	int found = f ? 0 : -1;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "/libcprof.so") != NULL;
	if (f)
		fclose(f);
	free(path);
	return found;
}

bool ct_control_has_ended(int pid)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	bool ended = p.fd >= 0 ? poll(&p, 1, 0) == 1 : kill(pid, 0) && errno == ESRCH;

	if (p.fd >= 0)
		close(p.fd);
	return ended;
}

static char *no_socket(int pid)
{
	char *path = ct_memory_printf("/proc/%d", pid);
	struct stat st;
	bool gone = stat(path, &st) != 0;

	free(path);
	if (gone)
		return ct_memory_printf("there is no process %d", pid);
	if (ct_control_has_ended(pid))
		return ct_memory_printf("process %d has ended", pid);
	if (geteuid() && st.st_uid != geteuid())
		return ct_memory_printf(
			"process %d is another user's: ask as that user, or as root", pid);
	switch (has_library(pid)) {
	case 0:
		return ct_memory_printf("process %d does not run under libcprof: start it with "
					"\"cprof run\", or with LD_PRELOAD",
					pid);
	case 1:
		return ct_memory_printf("process %d has no control socket: one is there while a "
					"mode is on, or from the start with CPROF_CONTROL=on",
					pid);
	default:
		return ct_memory_printf("process %d has no control socket to be seen from here",
					pid);
	}
}

static char *no_reply(int pid, int err)
{
	const char *name = ct_control_name(pid);

	switch (err) {
	case -ECONNRESET:
		return ct_memory_printf(
			"process %s does not answer this user: ask as its user with its group, or "
			"as root, who alone may ask a process with capabilities",
			name);
	case -EPROTO:
		return ct_memory_printf("process %s has a libcprof of another version: ask with "
					"the cprof of that version",
					name);
	case -ETIMEDOUT:
		return ct_memory_printf("process %s does not answer: it is stopped, or very busy",
					name);
	default: return ct_memory_printf("process %s: no reply: %s", name, strerror(-err));
	}
}

static char *no_path(const char *path, int err)
{
	switch (err) {
	case -ECONNREFUSED:
		return ct_memory_printf("%s: the process has ended, or nobody listens there", path);
	case -EAGAIN: return ct_memory_printf("%s: too many others are asking", path);
	default: return ct_memory_printf("%s: no control socket: %s", path, strerror(-err));
	}
}

/* Connects to process PID. Returns the descriptor, or -1 with *WHY. */
static int connect_to(int pid, char **why)
{
	struct ct_control_space space;
	struct one o = { .space = &space, .pid = pid, .fd = -1 };

	if (pid < 0) {
		o.fd = ct_control_space_connect_path(ct_control_name(pid));
		*why = o.fd < 0 ? no_path(ct_control_name(pid), o.fd) : NULL;
		return o.fd;
	}
	ct_control_space_of(&space, pid);
	read_names(&o);
	ct_control_space_names(&space, CP_CONTROL_NAME, try_name, &o);
	*why = o.fd >= 0 ? NULL : o.busy ? no_reply(pid, -ETIMEDOUT) : no_socket(pid);
	return o.fd;
}

char *ct_control_ask(int pid, struct cp_control_message *m, int fd)
{
	char *why;
	int to = connect_to(pid, &why), err;

	if (to < 0)
		return why;
	err = talk(to, m, fd, PATIENCE_MS);
	close(to);
	return err ? no_reply(pid, err) : NULL;
}

int ct_control_pid(int pid)
{
	char *why;
	int fd;

	if (pid >= 0)
		return pid;
	fd = connect_to(pid, &why);
	if (fd >= 0) {
		pid = listener_of(fd).pid;
		close(fd);
	}
	free(why);
	return pid < 0 ? 0 : pid;
}

bool ct_control_path_is_left(int pid)
{
	int fd = ct_control_space_connect_path(ct_control_name(pid));

	if (fd >= 0)
		close(fd);
	return fd == -ECONNREFUSED || fd == -ENOENT;
}

void ct_control_raise_descriptors(void)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &most))
		return;
	most.rlim_cur = most.rlim_max;
	setrlimit(RLIMIT_NOFILE, &most);
}

char *ct_control_one(int pid,
		     void (*see)(const struct ct_controlled *p,
				 const struct cp_control_message *status, void *arg),
		     void *arg)
{
	struct cp_control_message m;
	char *why;
	int fd = connect_to(pid, &why), err;
	struct ucred c;

	if (fd < 0)
		return why;
	c = listener_of(fd);
	ct_control_request(&m, CP_CONTROL_STATUS);
	err = talk(fd, &m, -1, PATIENCE_MS);
	close(fd);
	if (err)
		return no_reply(pid, err);
	see(&(struct ct_controlled){ c.pid, c.uid, (char *)ct_control_name(pid), NULL }, &m, arg);
	return NULL;
}

/* ---- replies ---- */

char *ct_control_value(const struct cp_control_message *m, const char *key)
{
	const char *at = m->text, *end = m->text + m->size, *line_end;
	size_t n = strlen(key);

	for (; at < end && (line_end = memchr(at, '\n', (size_t)(end - at))); at = line_end + 1)
		if ((size_t)(line_end - at) > n && !memcmp(at, key, n) && at[n] == '=')
			return ct_memory_printf("%.*s", (int)(line_end - at - (ptrdiff_t)n - 1),
						at + n + 1);
	return NULL;
}

unsigned long long ct_control_number(const struct cp_control_message *m, const char *key)
{
	char *text = ct_control_value(m, key);
	unsigned long long n = text ? strtoull(text, NULL, 10) : 0;

	free(text);
	return n;
}
