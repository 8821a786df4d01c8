/* SPDX-License-Identifier: BSD-3-Clause */
/* The helper that the library starts for CPROF_PUSH=URL; see push.h.
 *
 * One helper serves all processes of a user that ask for the same URL: each process starts one, but
 * only the first stays. It is told by the name of an abstract socket, which the kernel frees at its
 * end, however that comes, and which is as far to be seen as the processes' own sockets are.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "control/control.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/table.h"
#include "push/push.h"

/* Another user may have taken a name. */
#define NAMES 8

static bool is_other_users(const struct sockaddr_un *address, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct ucred c = { .uid = geteuid() };
	socklen_t n = sizeof(c);

	if (fd < 0)
		return false;
	if (!connect(fd, (const struct sockaddr *)address, size))
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n);
	close(fd);
	return c.uid != geteuid();
}

/* Returns a descriptor that keeps other helpers for URL away, or -1 if there is one already. */
static int become_only(const char *url)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st = { .st_ino = 0 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (stat("/proc/self/ns/pid", &st))
		st.st_ino = 0;
	for (int i = 0; fd >= 0 && i < NAMES; i++) {
		int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1,
				 "libcprof-push/%u/%" PRIu64 "/%016" PRIx64 ".%d", geteuid(),
				 (uint64_t)st.st_ino, ct_table_hash_text(url), i);
		socklen_t size =
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

		if (!bind(fd, (struct sockaddr *)&a, size) && !listen(fd, 1))
			return fd;
		if (!is_other_users(&a, size))
			break;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool asks_for_us(const struct cp_control_message *status, void *url)
{
	char *value = ct_control_value(status, "push");
	bool is = value && !strcmp(value, url);

	free(value);
	return is;
}

static bool look(struct ct_push *p, void *url)
{
	ct_push_follow_all(p->follow, true, asks_for_us, url);
	return ct_push_follow_count(p->follow) > 0;
}

static int serve(const struct ct_push_how *how, const char *url)
{
	struct ct_push p;

	if (ct_push_begin(&p, how, true))
		return CT_FAILED;
	if (look(&p, (char *)url))
		ct_push_loop(&p, look, (char *)url);
	return ct_push_end(&p);
}

int ct_push_helper(const struct ct_push_how *how, const char *url)
{
	int status = CT_OK, only;

	/* A process whose helper found ours still there, and left, is seen by the next round. */
	while ((only = become_only(url)) >= 0) {
		bool any;
		struct ct_push probe = { .how = how };

		status = serve(how, url);
		close(only);
		how->follow->queue = NULL;
		probe.follow = ct_push_follow_new(how->follow);
		any = look(&probe, (char *)url);
		ct_push_follow_free(probe.follow);
		if (!any)
			break;
	}
	return status;
}
