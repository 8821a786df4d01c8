/* SPDX-License-Identifier: BSD-3-Clause */
/* See control.h. */
#include "control/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Returns the credentials of the listener at the other end of FD. The name alone proves nothing,
 * because everybody may take it. */
static struct ucred listener(int fd)
{
	struct ucred c = { 0, (uid_t)-1, (gid_t)-1 };
	socklen_t size = sizeof(c);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &size);
	return c;
}

int ct_control_talk_send(int to, const struct cp_control_message *m, int passed)
{
	int err = ct_control_space_send(to, m, CP_CONTROL_HEADER + m->size, passed);

	return err == -EPIPE ? -ECONNRESET : err;
}

int ct_control_talk_receive(int fd, struct cp_control_message *m)
{
	ssize_t got = recv(fd, m, sizeof(*m), MSG_DONTWAIT);

	if (got <= 0)
		return got == 0 ? -ECONNRESET : -errno;
	if ((size_t)got < CP_CONTROL_HEADER || m->magic != CP_CONTROL_MAGIC)
		return -EBADMSG;
	if (m->version != CP_CONTROL_VERSION)
		return -EPROTO;
	return m->size <= CP_CONTROL_TEXT && (size_t)got == CP_CONTROL_HEADER + m->size ? 0
											: -EBADMSG;
}

/* ---- connections ---- */

/* The most levels of pid namespaces: "NSpid:\t812\t1" has two. */
#define LEVELS 32

struct names {
	int numbers[LEVELS], count;
};

/* Returns the numbers of PID in all namespaces; only PID if the process is not visible. */
static struct names names_of(int pid)
{
	char *path = ct_memory_printf("/proc/%d/status", pid), line[512], *at, *end;
	FILE *f = fopen(path, "re");
	struct names n = { .numbers = { pid }, .count = 1 };

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		for (at = line + 6; n.count < LEVELS; at = end) {
			long number = strtol(at, &end, 10);

			if (end == at)
				break;
			n.numbers[n.count++] = (int)number;
		}
	}
	if (f)
		fclose(f);
	free(path);
	return n;
}

/* Is NAME the name of a socket of one of N? */
static bool has_name(const struct names *n, const char *name)
{
	char *end;
	long number = strtol(name + strlen(CP_CONTROL_NAME), &end, 10);
	int i = 0;

	while (i < n->count && n->numbers[i] != number)
		i++;
	return i < n->count && (!*end || *end == '.');
}

int ct_control_talk_connect_name(struct ct_control_end *e)
{
	int fd = ct_control_space_connect(&e->space, e->name);
	struct names n;

	if (fd < 0)
		return fd;
	e->owner = listener(fd);
	if (geteuid() && e->owner.uid != geteuid()) {
		close(fd);
		return -EPERM;
	}
	n = names_of(e->owner.pid);
	/* A process that is not visible has no number here. */
	if (n.count == 1 || has_name(&n, e->name))
		return fd;
	close(fd);
	return -ESRCH;
}

struct search {
	struct ct_control_end *e;
	struct names names;
	int pid, fd;
};

static void try_name(const char *name, unsigned long inode, void *arg)
{
	struct search *s = arg;
	bool full = s->fd == -EAGAIN;

	(void)inode;
	if (s->fd >= 0 || !has_name(&s->names, name) || strlen(name) >= sizeof(s->e->name))
		return;
	strcpy(s->e->name, name);
	s->fd = ct_control_talk_connect_name(s->e);
	if (s->fd >= 0 && s->e->owner.pid != s->pid) {
		close(s->fd);
		s->fd = -ESRCH;
	}
	if (s->fd < 0 && full)
		s->fd = -EAGAIN;
}

int ct_control_talk_connect(int pid, struct ct_control_end *e)
{
	struct search s = { .e = e, .pid = pid, .fd = -ENOENT };

	*e = (struct ct_control_end){ .owner.pid = 0 };
	if (pid < 0) {
		snprintf(e->name, sizeof(e->name), "%s", ct_control_name(pid));
		s.fd = ct_control_space_connect_path(ct_control_name(pid));
		if (s.fd >= 0)
			e->owner = listener(s.fd);
		return s.fd;
	}
	ct_control_space_of(&e->space, pid);
	s.names = names_of(pid);
	ct_control_space_names(&e->space, CP_CONTROL_NAME, try_name, &s);
	return s.fd;
}

int ct_control_talk_connect_as_owner(const struct ct_control_end *e)
{
	if (geteuid() || !e->owner.pid)
		return -EPERM;
	return ct_control_space_connect_as(&e->space, e->name, e->owner.pid);
}

bool ct_control_talk_is_elsewhere(const struct ct_control_end *e)
{
	char *path = ct_memory_printf("/proc/%d/ns/user", e->owner.pid);
	struct stat own, its;
	bool elsewhere = e->owner.pid && !stat("/proc/self/ns/user", &own) && !stat(path, &its) &&
			 (own.st_ino != its.st_ino || own.st_dev != its.st_dev);

	free(path);
	return elsewhere;
}

long long ct_control_talk_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}
