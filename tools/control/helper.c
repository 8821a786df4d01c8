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
#include <time.h>
#include <unistd.h>

#include "core/directory.h"
#include "core/memory.h"
#include "core/table.h"

/* Another user may have taken a name. */
#define NAMES 8
#define BACKLOG 16
#define ANSWER_SECONDS 5
#define PAUSE_MS 100

/* Whose a name is that is taken. */
enum owner { OURS, ANOTHER_USERS, NOBODY_LISTENS };

/* A helper of ours accepts connections. So one that the kernel still has no room for after
 * ANSWER_SECONDS is to another user's socket, who wants to keep us away. */
static enum owner owner_of(const struct sockaddr_un *address, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	struct ucred c = { .uid = geteuid() };
	socklen_t n = sizeof(c);
	enum owner owner = OURS;

	if (fd < 0)
		return OURS;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (const struct sockaddr *)address, size)) {
		if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n) && c.uid != geteuid())
			owner = ANOTHER_USERS;
	} else if (errno == EAGAIN) {
		owner = ANOTHER_USERS;
	} else if (errno == ECONNREFUSED) {
		owner = NOBODY_LISTENS;
	}
	close(fd);
	return owner;
}

static void pause_shortly(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = PAUSE_MS * 1000000L }, NULL);
}

/* Listens at the name. Returns 0, -EEXIST if a helper of ours does, or -EADDRINUSE if another user
 * has the name. A helper of ours listens right after it has taken a name, and gives the name up
 * right after it has stopped. So a name at which nobody listens for ANSWER_SECONDS is another
 * user's. */
static int take_name(int fd, const struct sockaddr_un *address, socklen_t size)
{
	for (int i = 0; i < ANSWER_SECONDS * 1000 / PAUSE_MS; i++) {
		enum owner owner;

		if (!bind(fd, (const struct sockaddr *)address, size))
			return listen(fd, BACKLOG) ? -errno : 0;
		if (errno != EADDRINUSE)
			return -errno;
		owner = owner_of(address, size);
		if (owner != NOBODY_LISTENS)
			return owner == OURS ? -EEXIST : -EADDRINUSE;
		pause_shortly();
	}
	return -EADDRINUSE;
}

/* Empties the kernel's queue of connections, which strangers could fill. Ends when the socket is
 * shut down. While there are no descriptors or no memory, the queue waits. */
static void *accept_all(void *socket)
{
	int fd = *(int *)socket, from;

	while ((from = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0 ||
	       (errno != EINVAL && errno != EBADF)) {
		if (from >= 0)
			close(from);
		else
			pause_shortly();
	}
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
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (stat("/proc/self/ns/pid", &st))
		st.st_ino = 0;
	for (int i = 0; fd >= 0 && i < NAMES; i++) {
		int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1,
				 "libcprof-%s/%u/%" PRIu64 "/%016" PRIx64 ".%d", verb, geteuid(),
				 (uint64_t)st.st_ino, ct_table_hash_text(argument), i);
		socklen_t size =
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

		err = take_name(fd, &a, size);
		if (err == -EADDRINUSE)
			continue;
		only.fd = fd;
		if (!err && !pthread_create(&only.thread, NULL, accept_all, &only.fd))
			return true;
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
