/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks all processes at once; see ct_control_each.
 *
 * Everybody may listen at names like those of profiled processes, and not answer. So nothing is
 * waited for at a socket of another user (root asks everybody), and one time limit holds for all
 * sockets together.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/control.h"

/* Most connections open at once, and most to one process. */
#define OPEN 512
#define OPEN_EACH 2

struct asked {
	int pid; /* 0: the process that has the name */
	struct ct_control_end end;
	int fd;		     /* the connection, or -1 */
	bool waits;	     /* a connection must still be made */
	unsigned long inode; /* inode of the socket; 0: the socket's process is known */
	bool again;	     /* asked again as the process's owner */
	bool is_refused;     /* the process has closed the connection */
	struct cp_control_message *status; /* the reply */
};

struct all {
	struct asked *items;
	size_t count, room, open;
	const struct ct_control_space *space; /* namespace in which names are looked for */
	bool spans;
};

static void add_name(const char *name, unsigned long inode, void *arg)
{
	struct all *a = arg;
	struct asked *p;

	if (strlen(name) >= sizeof(p->end.name))
		return;
	p = CT_PUSH(a->items, a->count, a->room);
	*p = (struct asked){ .end.space = *a->space, .fd = -1, .waits = true, .inode = inode };
	strcpy(p->end.name, name);
}

static void find_processes(struct all *a)
{
	size_t count;
	struct ct_control_space *spaces = ct_control_space_all(&count);

	for (size_t i = 0; i < count; i++) {
		a->space = &spaces[i];
		ct_control_space_names(&spaces[i], CP_CONTROL_NAME, add_name, a);
	}
	free(spaces);
}

static void end_asked(struct all *a, struct asked *p)
{
	if (p->fd >= 0) {
		close(p->fd);
		a->open--;
	}
	p->fd = -1;
	p->waits = false;
}

static void ask_as_owner(struct all *a, struct asked *p, int err);

static bool is_asked_enough(const struct all *a, const struct asked *p)
{
	size_t same = 0;

	for (size_t i = 0; i < a->count && p->end.owner.pid; i++)
		same += a->items[i].fd >= 0 && a->items[i].end.owner.pid == p->end.owner.pid;
	return same >= OPEN_EACH;
}

/* Is P a socket of another user, with a full queue? The kernel takes long to tell that of thousands
 * of sockets, so all that accept connections are asked before. */
static bool is_strangers(struct asked *p)
{
	unsigned user;
	bool is = geteuid() && p->inode && !p->end.space.pid &&
		  ct_control_space_owner(p->inode, &user) && user != geteuid();

	p->inode = 0;
	return is;
}

/* Sends the request over FD, a connection to P. A process that refuses us may have closed the
 * connection before. */
static void request(struct all *a, struct asked *p, int fd)
{
	struct cp_control_message m;
	int err;

	p->fd = fd;
	a->open++;
	ct_control_request(&m, CP_CONTROL_STATUS);
	if (a->spans)
		ct_control_line(&m, "spans", "1");
	err = ct_control_talk_send(fd, &m, -1);
	if (err) {
		end_asked(a, p);
		ask_as_owner(a, p, err);
	}
}

/* P has ended the connection with ERR. Root asks once more as P's owner. */
static void ask_as_owner(struct all *a, struct asked *p, int err)
{
	int fd = -1;

	p->is_refused = err == -ECONNRESET;
	if (!p->is_refused || p->again)
		return;
	p->again = true;
	fd = ct_control_talk_connect_as_owner(&p->end);
	if (fd >= 0)
		request(a, p, fd);
}

/* Connects to P, unless its queue of connections is full. */
static void begin_asked(struct all *a, struct asked *p)
{
	int fd = p->pid ? ct_control_talk_connect(p->pid, &p->end)
			: ct_control_talk_connect_name(&p->end);

	p->waits = fd == -EAGAIN;
	if (fd < 0)
		return;
	if (!p->pid && is_asked_enough(a, p))
		close(fd);
	else
		request(a, p, fd);
}

static void receive_reply(struct all *a, struct asked *p)
{
	struct cp_control_message m;
	int err = ct_control_talk_receive(p->fd, &m);

	end_asked(a, p);
	if (err) {
		ask_as_owner(a, p, err);
	} else if (!m.result) {
		p->status = ct_memory_alloc(sizeof(m));
		*p->status = m;
	}
}

/* Waits until UNTIL at most for a reply. */
static void wait_for_some(struct all *a, long long until, bool any_waits)
{
	struct pollfd *fds = ct_memory_alloc((a->open + 1) * sizeof(*fds));
	long long left = until - ct_control_talk_now();
	nfds_t n = 0;

	for (size_t i = 0; i < a->count; i++)
		if (a->items[i].fd >= 0)
			fds[n++] = (struct pollfd){ .fd = a->items[i].fd, .events = POLLIN };
	if (any_waits && left > CT_CONTROL_RETRY_MS)
		left = CT_CONTROL_RETRY_MS;
	if (left < 0 || poll(fds, n, (int)left) <= 0)
		n = 0;
	for (size_t i = 0, k = 0; i < a->count && k < n; i++)
		if (a->items[i].fd == fds[k].fd && fds[k++].revents)
			receive_reply(a, &a->items[i]);
	free(fds);
}

static void ask_all(struct all *a)
{
	long long until = ct_control_talk_now() + CT_CONTROL_GLANCE_MS;
	bool any_waits, first = true;

	do {
		any_waits = false;
		for (size_t i = 0; i < a->count && ct_control_talk_now() < until; i++) {
			struct asked *p = &a->items[i];

			if (p->waits && !first && is_strangers(p))
				p->waits = false;
			if (p->waits && a->open < OPEN)
				begin_asked(a, p);
			any_waits |= p->waits;
		}
		if (any_waits || a->open)
			wait_for_some(a, until, any_waits);
		first = false;
	} while ((any_waits || a->open) && ct_control_talk_now() < until);
}

/* Did an earlier socket than P give the answer of P's process? */
static bool is_known(const struct all *a, const struct asked *p)
{
	for (const struct asked *q = a->items; q < p; q++)
		if (q->status && p->end.owner.pid && q->end.owner.pid == p->end.owner.pid)
			return true;
	return false;
}

/* Is P the last socket of a process that refuses us because a user namespace hides who we are? */
static bool is_elsewhere(const struct all *a, const struct asked *p)
{
	if (!p->is_refused || !p->end.owner.pid || !ct_control_talk_is_elsewhere(&p->end))
		return false;
	for (const struct asked *q = a->items; q < a->items + a->count; q++)
		if (q->end.owner.pid == p->end.owner.pid && (q > p || q->status))
			return false;
	return true;
}

void ct_control_each(const struct ct_control_which *which,
		     void (*see)(const struct ct_controlled *p,
				 const struct cp_control_message *status, void *arg),
		     void *arg)
{
	struct all a = { .spans = which && which->spans };

	for (size_t i = 0; which && i < which->count; i++)
		*CT_PUSH(a.items, a.count, a.room) =
			(struct asked){ .pid = which->pids[i], .fd = -1, .waits = true };
	if (!a.count)
		find_processes(&a);
	ask_all(&a);
	for (size_t i = 0; i < a.count; i++) {
		struct asked *p = &a.items[i];

		end_asked(&a, p);
		if (p->status && !is_known(&a, p))
			see(&(struct ct_controlled){ p->end.owner.pid }, p->status, arg);
		else if (which && which->elsewhere && is_elsewhere(&a, p))
			which->elsewhere(p->end.owner.pid, arg);
	}
	for (size_t i = 0; i < a.count; i++)
		free(a.items[i].status);
	free(a.items);
}
