/* SPDX-License-Identifier: BSD-3-Clause */
/* A whole file by rename; see pprof.h. */
#include "output/pprof.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/random.h>

#include "base/sys.h"
#include "base/text.h"

#define NAME_LENGTH_MAX 255
#define TRIES 8
/* Most reads of a directory, of some 100 names each. */
#define SWEEP_READS 64
#define TAIL_MAX 48 /* length of a temporary name's tail */

/* Get the status of the name itself: no link is followed. On both ports libc's struct stat is the
 * kernel's. */
static int stat_name(const char *path, struct stat *st)
{
	return (int)cp_sys4(SYS_newfstatat, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

static int stat_fd(int fd, struct stat *st)
{
	return (int)cp_sys2(SYS_fstat, fd, st);
}

/* Examine PATH. Returns 0 and sets *DIRECT, or returns why PATH can't be the target. */
static int judge(const char *path, bool *direct)
{
	struct stat st;
	int r = stat_name(path, &st);

	if (r && r != -ENOENT)
		return r;
	*direct = !r && S_ISCHR(st.st_mode);
	if (*direct)
		return 0;
	if (!r && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (cp_text_begins(path, "/dev/") && !cp_text_begins(path, "/dev/shm/"))
		return -EINVAL;
	return r || S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) ? 0 : -EINVAL;
}

static bool same_file(const struct cp_file_sink *f, const struct stat *st)
{
	return st->st_dev == f->device && st->st_ino == f->inode;
}

/* Does the descriptor still refer to this file? The program may have closed it and opened its own.
 */
static bool holds_file(const struct cp_file_sink *f)
{
	struct stat st;

	return f->fd >= 0 && !stat_fd(f->fd, &st) && same_file(f, &st);
}

static void remove_temporary(struct cp_file_sink *f)
{
	if (*f->temporary)
		cp_sys3(SYS_unlinkat, AT_FDCWD, f->temporary, 0);
	*f->temporary = '\0';
}

static int write_file(struct cp_sink *s, const void *data, size_t n)
{
	struct cp_file_sink *f = (struct cp_file_sink *)s;

	if (!f->error && !holds_file(f))
		f->error = -EBADF;
	if (!f->error)
		f->error = cp_fdwrite_all(f->fd, data, n, false);
	if (!f->error)
		f->written += n;
	return f->error;
}

int cp_sink_file_check(const char *path)
{
	return strlen(path) + TAIL_MAX + 2 > sizeof(((struct cp_file_sink *)NULL)->temporary)
		       ? -ENAMETOOLONG
		       : 0;
}

/* Make the name ".NAME.PID.tmp", or for a later TRY ".NAME.PID-RANDOM.tmp"; NAME is cut if it is
 * too long. */
static int name_temporary(struct cp_file_sink *f, const char *name, unsigned try)
{
	size_t dir = (size_t)(name - f->path);
	uint64_t random = 0;
	char tail[TAIL_MAX];
	size_t n;

	if (try)
		cp_sys3(SYS_getrandom, &random, sizeof(random), GRND_NONBLOCK);
	n = try ? cp_text_format(tail, sizeof(tail), ".%d-%08x%u.tmp", cp_sys_getpid(),
				 (unsigned)random, try)
		: cp_text_format(tail, sizeof(tail), ".%d.tmp", cp_sys_getpid());
	if (strlen(f->path) + n + 2 > sizeof(f->temporary))
		return -ENAMETOOLONG;
	cp_text_format(f->temporary, sizeof(f->temporary), "%.*s.%.*s%s", (int)dir, f->path,
		       (int)(NAME_LENGTH_MAX - 1 - n), name, tail);
	return 0;
}

/* Remove a stale file with the temporary name. A writer holds a lock on its file, so an unlocked
 * file's writer is dead. Under the lock, the name is checked to still refer to the same file. */
static void remove_stale(const char *path)
{
	int fd = cp_sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat st, named;

	if (fd < 0)
		return;
	if (!stat_fd(fd, &st) && S_ISREG(st.st_mode) &&
	    !cp_sys2(SYS_flock, fd, LOCK_EX | LOCK_NB) && !stat_name(path, &named) &&
	    st.st_dev == named.st_dev && st.st_ino == named.st_ino)
		cp_sys3(SYS_unlinkat, AT_FDCWD, path, 0);
	cp_sys_close(fd);
}

/* Is NAME what a process with another PID calls the temporary file of OURS, or of a file whose name
 * only adds to OURS (NAME.PID)? A number in OURS that is this process's (%p) may be any number.
 * Sets *PID to the process. */
static bool is_temporary_of(const char *name, const char *ours, int *pid)
{
	char own[16];
	size_t n = cp_text_format(own, sizeof(own), "%d", cp_sys_getpid());
	uint64_t number = 0;

	if (*name++ != '.')
		return false;
	while (*ours) {
		if (!strncmp(ours, own, n) && *name >= '0' && *name <= '9') {
			ours += n;
			name += strspn(name, "0123456789");
		} else if (*ours++ != *name++) {
			return false;
		}
	}
	/* ".PID.tmp", ".PID-RANDOM.tmp", after ".PID" or ".PID.N" of a descendant's file. */
	while (*name == '.' && !cp_text_begins(name, ".tmp")) {
		name++;
		if (cp_text_parse_u64(&name, 10, &number))
			return false;
	}
	if (*name == '-')
		name += 1 + strspn(name + 1, "0123456789abcdef");
	*pid = (int)number;
	return number && !strcmp(name, ".tmp");
}

/* Does process PID not exist here? It may exist in another container; then it has a lock on its
 * file. */
static bool is_dead(int pid)
{
	return cp_sys2(SYS_kill, pid, 0) == -ESRCH;
}

void cp_sink_file_sweep(const char *path)
{
	const char *ours = strrchr(path, '/') + 1;
	char entries[4096] __attribute__((aligned(8))),
		file[sizeof(((struct cp_file_sink *)0)->path)];
	size_t dir = (size_t)(ours - path);
	long got;
	int fd, pid;

	cp_text_format(file, sizeof(file), "%.*s", (int)dir, path);
	fd = cp_sys_open(file, O_RDONLY | O_DIRECTORY, 0);
	for (unsigned reads = 0; fd >= 0 && reads < SWEEP_READS &&
				 (got = cp_sys3(SYS_getdents64, fd, entries, sizeof(entries))) > 0;
	     reads++)
		for (long at = 0; at < got;) {
			const char *name = entries + at + 19;
			uint16_t length;

			memcpy(&length, entries + at + 16, sizeof(length));
			at += length;
			if (*name != '.' || !is_temporary_of(name, ours, &pid) || !is_dead(pid))
				continue;
			cp_text_format(file + dir, sizeof(file) - dir, "%s", name);
			remove_stale(file);
		}
	if (fd >= 0)
		cp_sys_close(fd);
}

static int create_temporary(struct cp_file_sink *f, const char *name)
{
	int fd = -EEXIST;

	for (unsigned try = 0; try < TRIES && fd == -EEXIST; try++) {
		int r = name_temporary(f, name, try);

		if (r)
			return r;
		/* The first name is tried twice, because a killed process leaves a file of this
		 * name. */
		for (int chance = 0; chance < (try ? 1 : 2) && fd == -EEXIST; chance++) {
			if (chance)
				remove_stale(f->temporary);
			fd = cp_sys_open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
					 0600);
		}
	}
	if (fd >= 0)
		cp_sys2(SYS_flock, fd, LOCK_EX | LOCK_NB);
	return fd;
}

int cp_sink_file_open(struct cp_file_sink *f, const char *path)
{
	const char *name;
	struct stat st = { 0 };
	size_t n;
	bool direct = false;
	int r;

	f->sink = (struct cp_sink){ .write = write_file };
	f->fd = -1;
	f->error = 0;
	f->written = 0;
	f->path[0] = f->temporary[0] = '\0';
	if (*path != '/')
		return -EINVAL;
	while (path[1] == '/')
		path++;
	n = strlen(path);
	name = strrchr(path, '/') + 1;
	if (n >= sizeof(f->path))
		return -ENAMETOOLONG;
	r = *name ? judge(path, &direct) : -EISDIR;
	if (r)
		return r;
	memcpy(f->path, path, n + 1);
	r = direct ? cp_sys_open(path, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0)
		   : create_temporary(f, f->path + (name - path));
	if (r < 0) {
		f->temporary[0] = '\0';
		return r;
	}
	f->fd = r;
	f->direct = direct;
	stat_fd(f->fd, &st);
	f->device = st.st_dev;
	f->inode = st.st_ino;
	f->created_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	return 0;
}

/* Rename FROM to TO, but fail with -EEXIST if TO exists. Used where renameat2 has no
 * RENAME_NOREPLACE. A hard link never replaces a file. On file systems without hard links (FAT), an
 * empty file claims the name first, and the rename replaces that file. */
static int link_new(const char *from, const char *to)
{
	int r = (int)cp_sys5(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
	int fd;

	if (!r)
		cp_sys3(SYS_unlinkat, AT_FDCWD, from, 0);
	if (!r || r == -EEXIST)
		return r;
	fd = cp_sys_open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	cp_sys_close(fd);
	return (int)cp_sys4(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

static int rename_new(const char *from, const char *to)
{
	int r = (int)cp_sys5(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);

	return r == -EINVAL || r == -ENOSYS ? link_new(from, to) : r;
}

/* Does F's file take the place of a profile? Then the data must be on the disk before the name, or
 * a crash of the machine leaves neither. A new name has nothing to lose, and fsync waits for the
 * disk: for tenths of a second if others write, at the end of each process of a tree. */
static bool takes_a_place(const struct cp_file_sink *f)
{
	struct stat st;

	return !stat_name(f->path, &st) && st.st_size > 0;
}

/* A file system without fsync returns EINVAL or ENOSYS. */
static int sync_file(int fd)
{
	int r;

	do
		r = (int)cp_sys1(SYS_fsync, fd);
	while (r == -EINTR);
	return r == -EINVAL || r == -ENOSYS ? 0 : r;
}

int cp_sink_file_close(struct cp_file_sink *f, bool fail, bool replace)
{
	bool ours = holds_file(f);
	int r;

	if (!f->error && !fail && !ours)
		f->error = -EBADF;
	if (!f->error && !fail && !f->direct && replace && takes_a_place(f))
		f->error = sync_file(f->fd);
	if (!f->error && !fail && !f->direct) {
		r = replace ? (int)cp_sys4(SYS_renameat, AT_FDCWD, f->temporary, AT_FDCWD, f->path)
			    : rename_new(f->temporary, f->path);
		if (!r)
			*f->temporary = '\0';
		f->error = r;
	}
	if (ours)
		cp_sys_close(f->fd);
	f->fd = -1;
	if (f->error != -EEXIST || fail)
		remove_temporary(f);
	return f->error;
}

int cp_sink_file_rename(struct cp_file_sink *f, const char *path)
{
	int r = *f->temporary ? rename_new(f->temporary, path) : -ENOENT;

	if (!r)
		*f->temporary = '\0';
	else if (r != -EEXIST)
		remove_temporary(f);
	return r;
}
