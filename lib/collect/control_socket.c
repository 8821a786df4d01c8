/* SPDX-License-Identifier: BSD-3-Clause */
/* The control socket: accepts clients, checks who they are, reads requests and sends replies. See
 * collect.h. */
#include "collect/collect.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/text.h"

#define BACKLOG 16
#define BURST 20
#define EACH_NS UINT64_C(20000000)
#define CLIENT_NS UINT64_C(1000000000)
#define NAMES 4

static int listener = -1, client = -1;
static int path_listener = -1; /* listener at CPROF_CONTROL=/PATH */
static int ready = -1;	       /* the descriptor of these that was ready at the end of the sleep */
static uint64_t client_deadline; /* monotonic ns */
static uint64_t
	paid_until; /* monotonic ns: end of the time that the accepted clients have used up */
static struct cp_control_message message;

static uint64_t socket_now(void)
{
	return cp_sys_clock_ns(CLOCK_MONOTONIC);
}

/* Bind FD to the abstract name of this process. Processes of several pid namespaces may share one
 * network namespace, and another user may have taken the name: then a number follows it. */
static int bind_name(int fd)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	long err = -EADDRINUSE;

	for (unsigned i = 0; i < NAMES && err == -EADDRINUSE; i++) {
		size_t n = cp_text_format(a.sun_path + 1, sizeof(a.sun_path) - 1,
					  CP_CONTROL_NAME "%d", cp_sys_getpid());

		if (i)
			n += cp_text_format(a.sun_path + 1 + n, sizeof(a.sun_path) - 1 - n, ".%x",
					    (unsigned)(socket_now() >> 8));
		err = cp_sys3(SYS_bind, fd, &a, offsetof(struct sockaddr_un, sun_path) + 1 + n);
	}
	return (int)err;
}

/* PLACE is a path, or NULL for the abstract name. */
static int publish(int fd, const struct cp_control_place *place)
{
	int err;

	if (place)
		return cp_control_path_bind(fd, place->path, place->owner, BACKLOG);
	err = bind_name(fd);
	return err ? err : (int)cp_sys2(SYS_listen, fd, BACKLOG);
}

static int make_listener(const struct cp_control_place *place)
{
	long fd = cp_sys3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err;

	if (fd < 0)
		return (int)fd;
	err = cp_task_sleep_watch((int)fd);
	if (!err)
		err = publish((int)fd, place);
	if (err) {
		cp_sys_close((int)fd);
		return err;
	}
	return (int)fd;
}

int cp_control_socket_open(void)
{
	int err = cp_task_sleep_begin();

	if (err)
		return err;
	listener = make_listener(NULL);
	if (listener >= 0)
		return 0;
	err = listener;
	cp_control_socket_close();
	return err;
}

int cp_control_socket_add_path(const struct cp_control_place *place)
{
	int fd = make_listener(place);

	if (fd < 0)
		return fd;
	if (path_listener >= 0)
		cp_sys_close(path_listener);
	path_listener = fd;
	return 0;
}

bool cp_control_socket_is_open(void)
{
	return listener >= 0;
}

static void end_client(void)
{
	if (client >= 0)
		cp_sys_close(client);
	client = -1;
}

void cp_control_socket_close(void)
{
	end_client();
	cp_control_path_remove();
	if (listener >= 0)
		cp_sys_close(listener);
	if (path_listener >= 0)
		cp_sys_close(path_listener);
	listener = path_listener = ready = -1;
	cp_task_sleep_end();
}

void cp_control_socket_fork_child(void)
{
	listener = path_listener = client = ready = -1;
}

static bool may_accept(uint64_t at)
{
	return paid_until < at + BURST * EACH_NS;
}

uint64_t cp_control_socket_due(void)
{
	if (listener < 0)
		return UINT64_MAX;
	if (client >= 0)
		return client_deadline;
	return may_accept(socket_now()) ? UINT64_MAX : paid_until - (BURST - 1) * EACH_NS;
}

void cp_control_socket_sleep(uint32_t *word, uint32_t seen, const struct timespec *timeout)
{
	bool accepts = client < 0 && may_accept(socket_now());
	struct pollfd fds[] = {
		{ .fd = accepts ? listener : client, .events = POLLIN },
		{ .fd = accepts ? path_listener : -1, .events = POLLIN },
	};

	cp_task_sleep(word, seen, timeout, fds, 2);
	ready = fds[0].revents ? fds[0].fd : fds[1].revents ? fds[1].fd : -1;
}

/* ---- who may ask ---- */

/* The kernel shows every user and group that a user namespace doesn't know as this one. */
#define UNKNOWN 65534u

struct peer {
	uint32_t pid, uid, gid; /* as in struct ucred */
};

static bool has_capabilities(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct c[_LINUX_CAPABILITY_U32S_3] = { { 0, 0, 0 } };

	return cp_sys2(SYS_capget, &h, c) < 0 || c[0].permitted || c[1].permitted;
}

/* Does the user namespace know all users, as on a host? Then UNKNOWN is the real user nobody. */
static bool knows_all_users(void)
{
	static const char all[] = "         0          0 4294967295";
	char text[64] = "";
	int fd = cp_thread_file_open("uid_map");
	long got = fd < 0 ? 0 : cp_sys_read(fd, text, sizeof(text));

	if (fd >= 0)
		cp_sys_close(fd);
	return got >= (long)sizeof(all) - 1 && !memcmp(text, all, sizeof(all) - 1);
}

static bool is_same(long call, uint32_t id)
{
	uint32_t ids[3];

	return !cp_sys3(call, &ids[0], &ids[1], &ids[2]) && ids[0] == id && ids[1] == id &&
	       ids[2] == id;
}

/* Return the process id at the other end of connection FD, or 0 if the kernel doesn't show it. */
static int control_peer_pid(int fd)
{
	struct peer p = { 0, UNKNOWN, UNKNOWN };
	uint32_t size = sizeof(p);

	return cp_sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &p, &size) < 0 ? 0 : (int)p.pid;
}

bool cp_control_socket_may_ask(int fd)
{
	struct peer p = { 0, UNKNOWN, UNKNOWN };
	uint32_t size = sizeof(p);

	if (cp_sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &p, &size) < 0 ||
	    size != sizeof(p))
		return false;
	if (p.uid == 0)
		return true;
	if (!is_same(SYS_getresuid, p.uid) || !is_same(SYS_getresgid, p.gid) || has_capabilities())
		return false;
	return (p.uid != UNKNOWN && p.gid != UNKNOWN) || knows_all_users();
}

static void accept_client(int from)
{
	uint64_t at = socket_now();

	client = (int)cp_sys4(SYS_accept4, from, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	paid_until = (paid_until > at ? paid_until : at) + EACH_NS;
	client_deadline = at + CLIENT_NS;
	if (client >= 0 && !cp_control_socket_may_ask(client))
		end_client();
}

int cp_control_socket_peer(void)
{
	return control_peer_pid(client);
}

/* A control message with one descriptor; the kernel closes further ones. */
union passed {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static int descriptor_of(struct msghdr *h)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(h);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* Receive a request. Returns the bytes, or a negative errno. *FD is the descriptor that came with
 * it, or -1. */
static long receive_request(int *fd)
{
	union passed passed;
	struct iovec data = { &message, sizeof(message) };
	struct msghdr h = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &passed,
			    .msg_controllen = sizeof(passed) };
	long got = cp_sys3(SYS_recvmsg, client, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*fd = got < 0 ? -1 : descriptor_of(&h);
	return got >= 0 && (h.msg_flags & MSG_TRUNC) ? -EMSGSIZE : got;
}

static bool reply(void)
{
	struct iovec data = { &message, CP_CONTROL_HEADER + message.size };
	struct msghdr h = { .msg_iov = &data, .msg_iovlen = 1 };

	return cp_sys3(SYS_sendmsg, client, &h, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* ---- requests and replies ---- */

int cp_control_socket_check(const struct cp_control_message *m, size_t got)
{
	if (got < CP_CONTROL_HEADER || m->magic != CP_CONTROL_MAGIC)
		return -EBADMSG;
	/* Another version may count its bytes in another way. */
	if (m->version != CP_CONTROL_VERSION)
		return -EPROTO;
	if (m->size > CP_CONTROL_TEXT || got != CP_CONTROL_HEADER + m->size || m->result)
		return -EBADMSG;
	if (!m->request || m->request >= CP_CONTROL_REQUESTS)
		return -EBADMSG;
	return 0;
}

void cp_control_socket_reply(struct cp_control_message *m, int result)
{
	m->magic = CP_CONTROL_MAGIC;
	m->version = CP_CONTROL_VERSION;
	m->result = result;
	m->size = 0;
}

void cp_control_socket_text(struct cp_control_message *m, const char *key, const char *value)
{
	size_t keys = strlen(key), values = strlen(value);
	char *to = m->text + m->size;

	if (keys + values + 2 > CP_CONTROL_TEXT - m->size)
		return;
	memcpy(to, key, keys);
	to[keys] = '=';
	for (size_t i = 0; i < values; i++)
		to[keys + 1 + i] =
			(unsigned char)value[i] < ' ' || value[i] == 127 ? '?' : value[i];
	to[keys + 1 + values] = '\n';
	m->size += (uint32_t)(keys + values + 2);
}

void cp_control_socket_number(struct cp_control_message *m, const char *key, uint64_t value)
{
	char text[24];

	cp_text_format(text, sizeof(text), "%lu", (unsigned long)value);
	cp_control_socket_text(m, key, text);
}

static void serve_client(cp_control_answer *answer, cp_control_answered *answered)
{
	int fd, err;
	long got = receive_request(&fd);

	if (got == -EAGAIN && socket_now() < client_deadline)
		return;
	err = got < 0 ? (int)got : cp_control_socket_check(&message, (size_t)got);
	if (!err) {
		answer(&message, fd);
		answered(reply());
	} else if (err == -EPROTO) {
		cp_control_socket_reply(&message, err);
		reply();
	} /* a malformed request gets no answer */
	if (fd >= 0)
		cp_sys_close(fd);
	end_client();
}

void cp_control_socket_serve(cp_control_answer *answer, cp_control_answered *answered)
{
	int from = ready;

	if (listener < 0 || (from < 0 && (client < 0 || socket_now() < client_deadline)))
		return;
	ready = -1;
	if (client < 0)
		accept_client(from);
	if (client >= 0)
		serve_client(answer, answered);
}
