/* SPDX-License-Identifier: BSD-3-Clause */
/* The spool; see push.h.
 *
 *     DIRECTORY/HASH-OF-TARGET.N/lock      held by the push that uses it
 *     DIRECTORY/HASH-OF-TARGET.N/TIME-SERIAL.item
 *
 * Several pushes to one target each have an N of their own. Who opens one takes over the files of
 * the others that nobody holds.
 */
#include "push/push.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX ".item"
#define MOST_PUSHES 64

struct ct_push_spool {
	char *path;
	int lock;
	uint64_t size, used, serial;
	double seconds;
	struct ct_push_files files;
};

static uint64_t hash_text(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
	return h;
}

static char *default_directory(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && *state == '/')
		return ct_memory_printf("%s/cprof/push", state);
	if (home && *home == '/')
		return ct_memory_printf("%s/.local/state/cprof/push", home);
	return NULL;
}

/* Is PATH a directory that only its owner, we, may write to? For directories beside ours. */
static int check_owner(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) ? 0 : -EPERM;
}

/* Returns a descriptor that holds the lock of directory PATH, or a negative errno. */
static int take_lock(const char *path)
{
	char *name = ct_memory_printf("%s/lock", path);
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), error = -errno;

	free(name);
	if (fd < 0)
		return error;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	close(fd);
	return -EWOULDBLOCK;
}

static char *numbered(const char *base, unsigned n)
{
	return ct_memory_printf("%s.%u", base, n);
}

/* Takes the first directory that no other push holds. */
static int claim_directory(struct ct_push_spool *s, const char *base)
{
	int error = -EWOULDBLOCK;

	for (unsigned n = 1; n <= MOST_PUSHES && error == -EWOULDBLOCK; n++) {
		s->path = numbered(base, n);
		/* Otherwise other users could put profiles there that we would send. */
		error = ct_directory_make_own(s->path);
		if (!error) {
			s->lock = take_lock(s->path);
			error = s->lock < 0 ? s->lock : 0;
		}
		if (error) {
			free(s->path);
			s->path = NULL;
		}
	}
	return error;
}

/* Moves the files of directories that nobody holds to our directory. */
static void inherit(struct ct_push_spool *s, const char *base)
{
	for (unsigned n = 1; n <= MOST_PUSHES; n++) {
		char *path = numbered(base, n);
		int lock = strcmp(path, s->path) && !check_owner(path) ? take_lock(path) : -1;
		struct ct_push_files f = { .items = NULL };

		if (lock >= 0)
			f = ct_push_files_list(path, SUFFIX);
		for (size_t i = 0; i < f.count; i++) {
			char *from = ct_memory_printf("%s/%s", path, f.items[i].name);
			char *to = ct_memory_printf("%s/%s", s->path, f.items[i].name);

			/* A file whose name is taken stays where it is. */
			if (!link(from, to))
				unlink(from);
			free(from);
			free(to);
		}
		ct_push_files_release(&f);
		if (lock >= 0)
			close(lock);
		free(path);
	}
}

struct ct_push_spool *ct_push_spool_open(const char *directory, const struct ct_push_target *target,
					 uint64_t size, double seconds, char **why)
{
	struct ct_push_spool *s = ct_memory_alloc(sizeof(*s));
	char *given = directory ? ct_memory_strdup(directory) : default_directory(), *base;
	uint64_t h = hash_text(hash_text(UINT64_C(0xcbf29ce484222325), target->url),
			       ct_push_target_protocol(target));
	int error;

	if (!given) {
		*why = ct_memory_strdup("neither XDG_STATE_HOME nor HOME is set; -spool=DIR names "
					"a directory");
		free(s);
		return NULL;
	}
	base = ct_memory_printf("%s/%016" PRIx64, given, h);
	s->size = size;
	s->seconds = seconds;
	error = claim_directory(s, base);
	if (error) {
		*why = ct_memory_printf("%s: %s; -spool=DIR names another directory", given,
					error == -EPERM
						? "it belongs to another user, or others may "
						  "write to it"
						: strerror(-error));
		free(s);
		s = NULL;
	} else {
		inherit(s, base);
		s->files = ct_push_files_list(s->path, SUFFIX);
		for (size_t i = 0; i < s->files.count; i++)
			s->used += s->files.items[i].size;
	}
	free(base);
	free(given);
	return s;
}

void ct_push_spool_close(struct ct_push_spool *s)
{
	if (!s)
		return;
	ct_push_files_release(&s->files);
	close(s->lock);
	free(s->path);
	free(s);
}

static int write_item(const char *path, const struct ct_push_item *item, uint64_t *size)
{
	struct ct_target t;
	struct stat st;
	int error = ct_target_open(&t, path);

	if (error)
		return error;
	error = ct_target_close(&t, ct_push_item_save(item, t.to));
	if (!error)
		*size = stat(path, &st) ? item->size : (uint64_t)st.st_size;
	return error;
}

int ct_push_spool_add(struct ct_push_spool *s, const struct ct_push_item *item, size_t *lost)
{
	char *name = ct_memory_printf("%016" PRIx64 "-%d-%06" PRIu64 SUFFIX,
				      (uint64_t)item->from_ns, (int)getpid(), s->serial++);
	char *path = ct_memory_printf("%s/%s", s->path, name);
	uint64_t size = 0;
	int error = item->size > s->size ? -ENOSPC : 0;

	while (!error && s->files.count && s->used + item->size > s->size) {
		ct_push_spool_remove(s, 1);
		++*lost;
	}
	if (!error)
		error = write_item(path, item, &size);
	free(path);
	if (error) {
		free(name);
		return error;
	}
	*CT_PUSH(s->files.items, s->files.count, s->files.room) =
		(struct ct_push_file){ name, size };
	s->used += size;
	return 0;
}

size_t ct_push_spool_count(const struct ct_push_spool *s)
{
	return s ? s->files.count : 0;
}

struct ct_push_item *ct_push_spool_load(const struct ct_push_spool *s, size_t i)
{
	char *path = ct_memory_printf("%s/%s", s->path, s->files.items[i].name);
	FILE *f = fopen(path, "re");
	struct ct_push_item *item = f ? ct_push_item_load(f) : NULL;

	if (f)
		fclose(f);
	free(path);
	return item;
}

void ct_push_spool_remove(struct ct_push_spool *s, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		ct_push_files_remove(s->path, s->files.items[i].name);
		s->used -= s->files.items[i].size;
		free(s->files.items[i].name);
	}
	s->files.count -= count;
	memmove(s->files.items, s->files.items + count, s->files.count * sizeof(*s->files.items));
}

size_t ct_push_spool_expire(struct ct_push_spool *s)
{
	double oldest = (double)time(NULL) - s->seconds;
	size_t n = 0;

	while (n < s->files.count &&
	       (double)strtoull(s->files.items[n].name, NULL, 16) / 1e9 < oldest)
		n++;
	ct_push_spool_remove(s, n);
	return n;
}
