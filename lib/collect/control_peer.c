/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may ask; see collect.h. */
#include "collect/collect.h"

#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/sys.h"
#include "base/base.h"

/* The kernel shows every user and group that a user namespace doesn't know as this one. */
#define UNKNOWN 65534u

struct peer {
	uint32_t pid, uid, gid; /* struct ucred */
};

static bool has_capabilities(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct c[_LINUX_CAPABILITY_U32S_3] = { { 0, 0, 0 } };

	return cp_sys2(SYS_capget, &h, c) < 0 || c[0].permitted || c[1].permitted;
}

/* Is every user known here, as on a host, so that UNKNOWN is the user nobody? */
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

int cp_control_peer_pid(int fd)
{
	struct peer p = { 0, UNKNOWN, UNKNOWN };
	uint32_t size = sizeof(p);

	return cp_sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &p, &size) < 0 ? 0 : (int)p.pid;
}

bool cp_control_peer_may_ask(int fd)
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
