/* SPDX-License-Identifier: BSD-3-Clause */
/* What the helpers of the library have in common; see helper.h. */
#include "control/helper.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/directory.h"
#include "core/memory.h"
#include "core/table.h"

/* Another user may have taken a name. */
#define NAMES 8
#define BACKLOG 16
#define ANSWER_SECONDS 5

/* A helper of ours accepts connections. So one that the kernel still has no room for after
 * ANSWER_SECONDS is to another user's socket, who wants to keep us away. */
static bool is_other_users(const struct sockaddr_un *address, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	struct ucred c = { .uid = geteuid() };
	socklen_t n = sizeof(c);
	bool others;

	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (const struct sockaddr *)address, size))
		others = !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n) && c.uid != geteuid();
	else
		others = errno == EAGAIN;
	close(fd);
	return others;
}

/* Empties the kernel's queue of connections, which strangers could fill. Ends when the socket is
 * shut down. */
static void *accept_all(void *socket)
{
	int fd = *(int *)socket, from;

	while ((from = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0 || errno == ECONNABORTED ||
	       errno == EINTR)
		if (from >= 0)
			close(from);
	return NULL;
}

static struct {
	pthread_t thread;
	int fd;
} only;

void ct_helper_leave(void)
{
	shutdown(only.fd, SHUT_RDWR);
	pthread_join(only.thread, NULL);
	close(only.fd);
}

bool ct_helper_become_only(const char *verb, const char *argument)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st = { .st_ino = 0 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (stat("/proc/self/ns/pid", &st))
		st.st_ino = 0;
	for (int i = 0; fd >= 0 && i < NAMES; i++) {
		int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1,
				 "libcprof-%s/%u/%" PRIu64 "/%016" PRIx64 ".%d", verb, geteuid(),
				 (uint64_t)st.st_ino, ct_table_hash_text(argument), i);
		socklen_t size =
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

		if (!bind(fd, (struct sockaddr *)&a, size) && !listen(fd, BACKLOG)) {
			only.fd = fd;
			if (!pthread_create(&only.thread, NULL, accept_all, &only.fd))
				return true;
			break;
		}
		if (!is_other_users(&a, size))
			break;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

void ct_helper_open_log(const char *verb)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *directory = state && *state == '/'
				  ? ct_memory_printf("%s/cprof", state)
				  : ct_memory_printf("%s/.local/state/cprof", home ? home : "");
	char *path = ct_memory_printf("%s/%s.log", directory, verb);
	struct stat st;

	ct_directory_make(directory);
	free(directory);
	if (!stat(path, &st) && st.st_size > 1 << 20)
		unlink(path);
	if (!freopen(path, "ae", stderr))
		freopen("/dev/null", "we", stderr);
	setvbuf(stderr, NULL, _IOLBF, 0);
	free(path);
}
