/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists and removes files by age; see push_files.h. */
#include "push/push_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct ct_push_file *)a)->name,
		      ((const struct ct_push_file *)b)->name);
}

struct ct_push_files ct_push_files_list(const char *path, const char *suffix)
{
	struct ct_push_files f = { NULL, 0, 0 };
	DIR *d = opendir(path);
	struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name), s = strlen(suffix);

		if (n <= s || *e->d_name == '.' || strcmp(e->d_name + n - s, suffix) ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		*CT_PUSH(f.items, f.count, f.room) =
			(struct ct_push_file){ ct_memory_strdup(e->d_name), (uint64_t)st.st_size };
	}
	if (d)
		closedir(d);
	if (f.count)
		qsort(f.items, f.count, sizeof(*f.items), by_name);
	return f;
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

size_t ct_push_files_limit(const char *path, const char *suffix, uint64_t limit, uint64_t more)
{
	struct ct_push_files f = ct_push_files_list(path, suffix);
	uint64_t all = more;
	size_t removed = 0;

	for (size_t i = 0; i < f.count; i++)
		all += f.items[i].size;
	for (; removed < f.count && all > limit; removed++) {
		ct_push_files_remove(path, f.items[removed].name);
		all -= f.items[removed].size;
	}
	ct_push_files_release(&f);
	return removed;
}
