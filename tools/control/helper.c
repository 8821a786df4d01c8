/* SPDX-License-Identifier: BSD-3-Clause */
/* The common part of the helpers of the library; see control.h. */
#include "control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/report.h"

/* Number of names that are tried, because another user may have taken one. */
#define NAMES 8
#define BACKLOG 16
#define ANSWER_SECONDS 5
#define PAUSE_MS 100
#define LOG_MAX (1 << 20)

/* The lock in the user's own directory, or -1 if there is none; then only names decide. */
static int lock = -1;
static char *lock_path;

/* Who listens at a name that is already taken. */
enum owner { OURS, ANOTHER_USERS, NOBODY_LISTENS };

/* A helper of ours accepts connections. So if the kernel still has no room for a connection after
 * ANSWER_SECONDS, the socket is another user's, who wants to keep us away. */
static enum owner owner_of(const struct sockaddr_un *address, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (lock >= 0 ? SOCK_NONBLOCK : 0), 0);
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
 * right after it has stopped. So if nobody listens at a name for ANSWER_SECONDS, it is another
 * user's. */
static int take_name(int fd, const struct sockaddr_un *address, socklen_t size)
{
	/* With the lock there is no need to wait: no other helper of ours exists. */
	for (int i = 0; i < (lock >= 0 ? 1 : ANSWER_SECONDS * 1000 / PAUSE_MS); i++) {
		enum owner owner;

		if (!bind(fd, (const struct sockaddr *)address, size))
			return listen(fd, BACKLOG) ? -errno : 0;
		if (errno != EADDRINUSE)
			return -errno;
		owner = owner_of(address, size);
		if (owner != NOBODY_LISTENS)
			return owner == OURS ? -EEXIST : -EADDRINUSE;
		if (lock < 0)
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

/* ---- the lock ---- */

/* Returns the directory of the helpers' files, or NULL if the user has no private one. */
static char *own_directory(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *path = state && *state == '/'
			     ? ct_memory_printf("%s/cprof", state)
			     : ct_memory_printf("%s/.local/state/cprof", home ? home : "");

	if (*path == '/' && !ct_directory_make_own(path))
		return path;
	free(path);
	return NULL;
}

/* The name contains the host, because several machines may share the directory. */
static char *lock_name(const char *directory, const char *verb, const char *argument,
		       uint64_t processes)
{
	char boot[64] = "", *where, *path;
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (f && !fgets(boot, sizeof(boot), f))
		*boot = '\0';
	if (f)
		fclose(f);
	where = ct_memory_printf("%s%" PRIu64 " %s", boot, processes, argument);
	path = ct_memory_printf("%s/%s-%016" PRIx64 ".lock", directory, verb,
				ct_table_hash_text(where));
	free(where);
	return path;
}

static bool is_there(const char *path, int fd)
{
	struct stat a, b;

	return !fstat(fd, &a) && !lstat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Takes the lock, if there can be one. Returns false if another helper has it. */
static bool take_lock(const char *verb, const char *argument, uint64_t processes)
{
	char *directory = own_directory();
	bool held = false;

	if (!directory)
		return true;
	lock_path = lock_name(directory, verb, argument, processes);
	free(directory);
	do {
		if (lock >= 0)
			close(lock); /* the former owner has removed the file */
		lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
			    0600);
		held = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	} while (lock >= 0 && !held && !is_there(lock_path, lock));
	return !held;
}

static void give_lock_up(bool remove)
{
	if (lock >= 0 && remove)
		unlink(lock_path);
	if (lock >= 0)
		close(lock);
	free(lock_path);
	lock_path = NULL;
	lock = -1;
}

/* ---- the names ---- */

void ct_helper_leave(void)
{
	if (only.fd >= 0) {
		shutdown(only.fd, SHUT_RDWR);
		pthread_join(only.thread, NULL);
		close(only.fd);
	}
	give_lock_up(true);
}

/* Takes a name. Returns 0; -EEXIST if a helper of ours has one; -EADDRINUSE if other users have all
 * names. */
static int take_any_name(int fd, const char *verb, const char *argument, uint64_t processes)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int err = fd < 0 ? -EMFILE : -EADDRINUSE;

	for (int i = 0; err == -EADDRINUSE && i < NAMES; i++) {
		int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1,
				 "libcprof-%s/%u/%" PRIu64 "/%016" PRIx64 ".%d", verb, geteuid(),
				 processes, ct_table_hash_text(argument), i);

		err = take_name(
			fd, &a,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n));
	}
	return err;
}

/* A name alone isn't enough, because another user may take all; the lock isn't, because processes
 * of one user may have several homes, or none. */
bool ct_helper_become_only(const char *verb, const char *argument)
{
	struct stat st = { .st_ino = 0 };
	int fd, err;

	if (stat("/proc/self/ns/pid", &st))
		st.st_ino = 0;
	if (!take_lock(verb, argument, st.st_ino)) {
		give_lock_up(false);
		return false;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	err = take_any_name(fd, verb, argument, st.st_ino);
	only.fd = err ? -1 : fd;
	if (!err && !pthread_create(&only.thread, NULL, accept_all, &only.fd))
		return true;
	if (fd >= 0)
		close(fd);
	only.fd = -1;
	if (err == -EADDRINUSE && lock >= 0)
		return true;
	if (err == -EADDRINUSE)
		fprintf(stderr,
			"cprof %s: not started: other users have taken all names of helpers, and "
			"there is no directory of this user's (HOME, XDG_STATE_HOME) for a lock\n",
			verb);
	give_lock_up(true);
	return false;
}

/* Opens file NAME of the helpers' directory for appending. Returns a descriptor or -1. */
static int open_own(const char *name)
{
	char *directory = own_directory(),
	     *path = directory ? ct_memory_printf("%s/%s", directory, name) : NULL;
	int fd = path ? open(path,
			     O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
			     0600)
		      : -1;
	struct stat st;

	free(directory);
	free(path);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
			st.st_nlink != 1)) {
		close(fd);
		return -1;
	}
	if (fd >= 0 && st.st_size > LOG_MAX && ftruncate(fd, 0))
		return fd;
	return fd;
}

void ct_helper_open_log(const char *verb)
{
	char *name = ct_memory_printf("%s.log", verb);
	int fd = open_own(name);

	if (fd < 0)
		fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		dup2(fd, STDERR_FILENO);
		close(fd);
	}
	setvbuf(stderr, NULL, _IOLBF, 0);
	free(name);
}
