/* SPDX-License-Identifier: BSD-3-Clause */
/* The profile of the previous run; see verbs.h. */
#include "verbs/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/read.h"
#include "flame/flame.h"

#define COPIED_AT_ONCE 65536

/* Is FD a profile? Only profiles are kept. They are gzip, as the library writes them. */
static bool is_profile(int fd)
{
	unsigned char begin[2];
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       pread(fd, begin, sizeof(begin), 0) == sizeof(begin) && begin[0] == 0x1f &&
	       begin[1] == 0x8b;
}

void ct_run_keep_open(struct ct_run_keep *k, const char *path)
{
	k->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (k->fd >= 0 && !is_profile(k->fd))
		ct_run_keep_close(k);
}

void ct_run_keep_close(struct ct_run_keep *k)
{
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
}

static char *name_of(const char *path, long number)
{
	const char *extension = ct_run_show_extension(path);
	int stem = (int)(extension - path);

	if (number == 1)
		return ct_memory_printf("%.*s.before%s", stem, path, extension);
	return ct_memory_printf("%.*s.before%ld%s", stem, path, number, extension);
}

/* Renames the files; the oldest one is deleted. */
static void rotate(const char *path, long count)
{
	for (long i = count; i > 1; i--) {
		char *from = name_of(path, i - 1), *to = name_of(path, i);

		rename(from, to);
		free(from);
		free(to);
	}
}

static int copy_file(int from, FILE *to)
{
	char *buffer = ct_memory_realloc(NULL, COPIED_AT_ONCE, 1);
	off_t at = 0;
	ssize_t n;

	while ((n = pread(from, buffer, COPIED_AT_ONCE, at)) > 0) {
		if (fwrite(buffer, 1, (size_t)n, to) != (size_t)n)
			break;
		at += n;
	}
	free(buffer);
	return n ? -EIO : 0;
}

char *ct_run_keep_store(struct ct_run_keep *k, const char *path, long count)
{
	char *name = k->fd < 0 || count < 1 ? NULL : name_of(path, 1);
	struct ct_target target;
	int error;

	if (name) {
		rotate(path, count);
		error = ct_target_open(&target, name);
		if (!error)
			error = ct_target_close(&target, copy_file(k->fd, target.to));
		if (error) {
			fprintf(stderr, "cprof: the run before can't be kept as %s: %s\n", name,
				strerror(-error));
			free(name);
			name = NULL;
		}
	}
	ct_run_keep_close(k);
	return name;
}

static bool has_samples(const struct ct_profile *p)
{
	return p->type_count && ct_model_total(p, ct_model_default_type(p)) > 0;
}

static const char *program_of(const struct ct_profile *p)
{
	return p->mapping_count ? ct_text(p, p->mappings[0].file) : "";
}

int ct_run_keep_comparable(const char *a, const char *b)
{
	struct ct_profile *p = ct_read_source(a), *q = p ? ct_read_source(b) : NULL;
	bool yes = p && q && ct_flame_sides_equal_types(p, q) &&
		   !strcmp(program_of(p), program_of(q)) && has_samples(p) && has_samples(q);

	ct_model_free(p);
	ct_model_free(q);
	return yes;
}
