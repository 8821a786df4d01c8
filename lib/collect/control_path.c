/* SPDX-License-Identifier: BSD-3-Clause */
/* The control socket's file; see collect.h.
 *
 * The socket is bound under a name of its own, and renamed when it listens. So a client never finds
 * a socket that refuses it, and of two processes that begin at the same moment neither takes the
 * other's file for a stale one.
 */
#include "collect/collect.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/text.h"

/* RENAME_NOREPLACE, which older headers lack. */
#define NOREPLACE 1u
/* Number of names that are tried for a socket that isn't renamed yet. */
#define FIRST_NAMES 4

enum { NONE, BOUND, WITHDRAWN };

/* The path of the last bind. */
static char bound[sizeof(((struct sockaddr_un *)0)->sun_path)];
static uint64_t device, inode;
static uint32_t state;

static int look_at_path(const char *path, struct stat *st)
{
	return (int)cp_sys4(SYS_newfstatat, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

static void unlink_path(const char *path)
{
	cp_sys3(SYS_unlinkat, AT_FDCWD, path, 0);
}

static int address(struct sockaddr_un *a, const char *path)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	return cp_text_format(a->sun_path, sizeof(a->sun_path), "%s", path) < sizeof(a->sun_path)
		       ? 0
		       : -ENAMETOOLONG;
}

/* Returns 1 if PATH is a socket of this user on which nobody listens, 0 if somebody does, -EEXIST
 * for another file. */
static int is_stale(const char *path)
{
	struct sockaddr_un a;
	struct stat st;
	long fd, err;

	if (look_at_path(path, &st))
		return 1;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != (uint32_t)cp_sys0(SYS_geteuid))
		return -EEXIST;
	fd = cp_sys3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return (int)fd;
	address(&a, path);
	err = cp_sys3(SYS_connect, fd, &a, sizeof(a));
	cp_sys_close((int)fd);
	return err == -ECONNREFUSED;
}

static int rename_to(const char *from, const char *to)
{
	int stale;
	long err = cp_sys5(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, NOREPLACE);

	if (!err)
		return 0;
	if (err != -EEXIST && err != -EINVAL && err != -ENOSYS)
		return (int)err;
	stale = is_stale(to);
	if (stale <= 0)
		return stale ? stale : -EADDRINUSE;
	return (int)cp_sys5(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static void remember_path(const char *path)
{
	struct stat st;

	cp_store_seqcst(&state, NONE);
	if (look_at_path(path, &st))
		return;
	cp_text_format(bound, sizeof(bound), "%s", path);
	device = st.st_dev;
	inode = st.st_ino;
	cp_store_seqcst(&state, BOUND);
}

/* Bind FD to a name that nobody has, beside PATH: FIRST. A socket of this user that nobody listens
 * at was left by a process with this number that was killed here. Any other file stays. */
static int bind_first(int fd, const char *path, char first[sizeof(bound)])
{
	struct sockaddr_un a;
	int err = -EADDRINUSE;

	for (unsigned i = 0; i < FIRST_NAMES && err == -EADDRINUSE; i++) {
		size_t n = cp_text_format(first, sizeof(bound), "%s~%d", path, cp_sys_getpid());

		if (i)
			cp_text_format(first + n, sizeof(bound) - n, ".%u", i);
		err = address(&a, first);
		if (err)
			return err;
		err = (int)cp_sys3(SYS_bind, fd, &a, sizeof(a));
		if (err != -EADDRINUSE || is_stale(first) != 1)
			continue;
		unlink_path(first);
		err = (int)cp_sys3(SYS_bind, fd, &a, sizeof(a));
	}
	return err;
}

int cp_control_path_bind(int fd, const char *path, bool unique, int backlog)
{
	char first[sizeof(bound)], name[sizeof(bound)];
	int err;

	cp_text_format(name, sizeof(name), "%s.%d", path, cp_sys_getpid());
	/* The file has the socket's mode, as far as the program's mask allows. */
	cp_sys2(SYS_fchmod, fd, 0600);
	err = bind_first(fd, path, first);
	if (err)
		return err;
	err = (int)cp_sys2(SYS_listen, fd, backlog);
	if (!err)
		err = unique ? rename_to(first, path) : -EADDRINUSE;
	if (!err)
		cp_text_format(name, sizeof(name), "%s", path);
	else if (err == -EADDRINUSE)
		err = rename_to(first, name);
	if (err)
		unlink_path(first);
	else
		remember_path(name);
	return err;
}

static void remove_for(uint32_t next)
{
	struct stat st;

	if (cp_exchange_acqrel(&state, next) != BOUND)
		return;
	if (!look_at_path(bound, &st) && st.st_dev == device && st.st_ino == inode)
		unlink_path(bound);
}

void cp_control_path_remove(void)
{
	remove_for(NONE);
}

void cp_control_path_withdraw(void)
{
	remove_for(WITHDRAWN);
}

void cp_control_path_give_up(void)
{
	cp_store_release(&state, NONE);
}

bool cp_control_path_is_withdrawn(void)
{
	return cp_load_acquire(&state) == WITHDRAWN;
}

void cp_control_path_fork_child(void)
{
	cp_store_relaxed(&state, NONE);
}
