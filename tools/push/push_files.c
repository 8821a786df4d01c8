/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists and removes files by age; see push.h. */
#include "push/push.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Most names in memory at once; a directory may have a hundred thousand files. */
#define OLDEST 2048

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct ct_push_file *)a)->name,
		      ((const struct ct_push_file *)b)->name);
}

static void sort_files(struct ct_push_files *f)
{
	if (f->count)
		qsort(f->items, f->count, sizeof(*f->items), by_name);
}

static void keep_oldest(struct ct_push_files *f, size_t most)
{
	sort_files(f);
	while (f->count > most)
		free(f->items[--f->count].name);
}

/* Only the MOST oldest ones are in the list. */
static struct ct_push_files list_files(const char *path, const char *suffix, size_t most)
{
	struct ct_push_files f = { .items = NULL };
	DIR *d = opendir(path);
	struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name), s = strlen(suffix);

		if (n <= s || *e->d_name == '.' || strcmp(e->d_name + n - s, suffix) ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		f.bytes += (uint64_t)st.st_size;
		*CT_PUSH(f.items, f.count, f.room) =
			(struct ct_push_file){ ct_memory_strdup(e->d_name), (uint64_t)st.st_size };
		if (f.count / 2 >= most)
			keep_oldest(&f, most);
	}
	if (d)
		closedir(d);
	keep_oldest(&f, most);
	return f;
}

struct ct_push_files ct_push_files_list(const char *path, const char *suffix)
{
	return list_files(path, suffix, SIZE_MAX);
}

void ct_push_files_release(struct ct_push_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->items[i].name);
	free(f->items);
}

void ct_push_files_remove(const char *path, const char *name)
{
	char *whole = ct_memory_printf("%s/%s", path, name);

	unlink(whole);
	free(whole);
}

uint64_t ct_push_files_limit(const char *path, const char *suffix, uint64_t limit)
{
	struct ct_push_files f = list_files(path, suffix, OLDEST);
	uint64_t all = f.bytes;

	for (size_t i = 0; i < f.count && all > limit; i++) {
		ct_push_files_remove(path, f.items[i].name);
		all -= f.items[i].size;
	}
	ct_push_files_release(&f);
	return all;
}
