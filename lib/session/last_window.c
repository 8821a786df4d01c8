/* SPDX-License-Identifier: BSD-3-Clause */
/* Hands over the last windows at the process's end; see window.h. */
#include "session/window.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/text.h"
#include "session/session.h"

/* Linux's MFD_NOEXEC_SEAL, which older headers lack. */
#define NOEXEC_SEAL 8u

/* Connects to consumer ID. Returns the connection or a negative errno. */
static int reach(uint64_t id)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = cp_text_format(a.sun_path + 1, sizeof(a.sun_path) - 1, CP_CONTROL_LAST "%lx",
				  (unsigned long)id);
	int fd = cp_sys_move_up((int)cp_sys3(SYS_socket, AF_UNIX,
					     SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	int err;

	if (fd < 0)
		return fd;
	err = (int)cp_sys3(SYS_connect, fd, &a, offsetof(struct sockaddr_un, sun_path) + 1 + n);
	/* Another user may have taken the name. */
	if (!err && !cp_control_socket_may_ask(fd))
		err = -EPERM;
	if (!err)
		return fd;
	cp_sys_close(fd);
	return err;
}

static int send_file(int to, const char *mode, int file)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} passed = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
				 .cmsg_level = SOL_SOCKET,
				 .cmsg_type = SCM_RIGHTS } };
	struct iovec data = { (void *)(uintptr_t)mode, strlen(mode) };
	struct msghdr h = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &passed,
			    .msg_controllen = sizeof(passed) };
	long sent;

	memcpy(CMSG_DATA(&passed.header), &file, sizeof(file));
	sent = cp_sys3(SYS_sendmsg, to, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
	return sent < 0 ? (int)sent : 0;
}

static int send_profile(int to, const char *mode, const struct cp_memory_sink *memory)
{
	int file = (int)cp_sys2(SYS_memfd_create, "cprof", MFD_CLOEXEC | NOEXEC_SEAL), err;

	/* Older kernels don't know the flag; newer ones may insist on it (vm.memfd_noexec=2). */
	if (file == -EINVAL)
		file = (int)cp_sys2(SYS_memfd_create, "cprof", MFD_CLOEXEC);
	file = cp_sys_move_up(file);
	if (file < 0)
		return file;
	err = cp_fdwrite_all(file, memory->data, memory->used, false);
	if (!err)
		err = send_file(to, mode, file);
	cp_sys_close(file);
	return err;
}

static void hand_over(struct cp_run *r, struct cp_consumer *c)
{
	struct cp_memory_sink memory;
	int to = reach(c->id), err;

	if (to < 0)
		return;
	/* An answer without a confirmation did not arrive. */
	cp_consumers_confirm(c, false);
	cp_sink_memory_open(&memory);
	err = cp_dump_window(r, c, &cp_session.config, &memory.sink);
	if (!err)
		err = send_profile(to, r->ops->name, &memory);
	cp_consumers_confirm(c, !err);
	cp_sink_memory_release(&memory);
	cp_sys_close(to);
}

void cp_last_window_send(void)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);

	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		struct cp_run *r = &cp_session.runs[m];

		if (!r->running || !r->consumers.count)
			continue;
		cp_own_time_work_begin();
		cp_consumers_expire(r, now);
		for (size_t i = 0; i < r->consumers.count; i++) {
			struct cp_consumer *c = CP_VEC_AT(&r->consumers, struct cp_consumer, i);

			if (c->last)
				hand_over(r, c);
		}
		cp_own_time_work_end();
	}
}
