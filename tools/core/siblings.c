/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks for the files of one run; see siblings.h. */
#include "core/siblings.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/input.h"
#include "core/memory.h"
#include "core/out.h"
#include "core/read.h"

static bool known;

bool ct_siblings_overlap(const struct ct_profile *a, const struct ct_profile *b)
{
	return a->time_nanos <= b->time_nanos + b->duration_nanos &&
	       b->time_nanos <= a->time_nanos + a->duration_nanos;
}

void ct_siblings_are_known(void)
{
	known = true;
}

/* Returns the pattern of FILE.PID, in which FILE's own characters have no meaning. */
char *ct_siblings_pattern(const char *file)
{
	char *pattern = ct_memory_alloc(2 * strlen(file) + sizeof(".[0-9]*")), *to = pattern;

	for (; *file; file++) {
		if (strchr("*?[\\", *file))
			*to++ = '\\';
		*to++ = *file;
	}
	strcpy(to, ".[0-9]*");
	return pattern;
}

bool ct_siblings_is_pid(const char *text)
{
	static const char digits[] = "0123456789";
	size_t n = strspn(text, digits), more;

	if (!n || text[n] != '.')
		return n && !text[n];
	more = strspn(text + n + 1, digits);
	return more && !text[n + 1 + more];
}

/* So many files, and so large ones, are read for their time; of others, their dates decide. */
#define READ_MAX 16
#define READ_MAX_BYTES (1 << 20)

/* Was PATH written after P's process began? Its size is *SIZE then. */
static bool is_later(const char *path, const struct ct_profile *p, off_t *size)
{
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	*size = st.st_size;
	return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec >= p->time_nanos;
}

/* A copy has a new date, so the profile's own time decides. */
bool ct_siblings_is_of_run(const char *path, const struct ct_profile *p)
{
	struct ct_profile *other = NULL;
	struct ct_fault fault = { 0 };
	struct ct_input *in = NULL;
	bool same = !ct_input_open(&in, path, &fault) && !ct_read(&other, in, &fault) &&
		    ct_siblings_overlap(other, p);

	ct_input_close(in);
	ct_model_free(other);
	return same;
}

/* Did the process of the profile at PATH begin after the time BEGAN? */
static bool began_after(const char *path, int64_t began)
{
	struct ct_profile *other = NULL;
	struct ct_fault fault = { 0 };
	struct ct_input *in = NULL;
	bool after = !ct_input_open(&in, path, &fault) && !ct_read(&other, in, &fault) &&
		     other->time_nanos >= began;

	ct_input_close(in);
	ct_model_free(other);
	return after;
}

char **ct_siblings_children(const char *file, size_t *count)
{
	struct ct_profile *p = ct_read_source(file);
	char *pattern, **children;
	glob_t found = { 0 };

	*count = 0;
	if (!p)
		return NULL;
	pattern = ct_siblings_pattern(file);
	if (ct_input_is_url(file) || glob(pattern, 0, NULL, &found))
		found.gl_pathc = 0;
	children = ct_memory_alloc((found.gl_pathc + 1) * sizeof(*children));
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (ct_siblings_is_pid(found.gl_pathv[i] + strlen(file) + 1) &&
		    began_after(found.gl_pathv[i], p->time_nanos))
			children[(*count)++] = ct_memory_strdup(found.gl_pathv[i]);
	globfree(&found);
	free(pattern);
	ct_model_free(p);
	return children;
}

/* Returns NAME as a shell's word; the caller frees it. */
static char *quoted(const char *name)
{
	char *text = ct_memory_alloc(4 * strlen(name) + 3), *to = text;
	bool plain = !strpbrk(name, " \t\n!\"#$&'()*;<=>?[\\]^`{|}~");

	if (plain)
		return strcpy(text, name);
	for (*to++ = '\''; *name; name++)
		to = *name == '\'' ? stpcpy(to, "'\\''") : (*to = *name, to + 1);
	strcpy(to, "'");
	return text;
}

static void say(const char *path, size_t count, const char *file)
{
	char *more =
		count > 1 ? ct_memory_printf(" and %zu more", count - 1) : ct_memory_strdup("");
	char *word = quoted(file);
	char *all = count > 1 ? ct_memory_printf("; one file of all: cprof merge -children "
						 "-o ALL.pb %s",
						 word)
			      : ct_memory_strdup("");
	char *text = ct_memory_printf("%s that the profiled one started wrote %s%s%s",
				      count > 1 ? "processes" : "a process", path, more, all);

	fputs("cprof: hint: ", stderr);
	ct_out_text(stderr, text);
	fputc('\n', stderr);
	free(text);
	free(all);
	free(word);
	free(more);
}

bool ct_siblings_say(const struct ct_profile *p, const char *file)
{
	char *pattern = ct_siblings_pattern(file);
	const char *largest = NULL;
	size_t count = 0, read = 0;
	off_t most = 0;
	glob_t found;

	if (!known && p->time_nanos && !ct_input_is_url(file) &&
	    !glob(pattern, GLOB_NOSORT, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			const char *path = found.gl_pathv[i];
			off_t size;

			if (!ct_siblings_is_pid(path + strlen(file) + 1) ||
			    !is_later(path, p, &size) ||
			    (size <= READ_MAX_BYTES && read++ < READ_MAX &&
			     !ct_siblings_is_of_run(path, p)))
				continue;
			count++;
			if (!largest || size > most)
				largest = path;
			most = size > most ? size : most;
		}
		if (count)
			say(largest, count, file);
		globfree(&found);
	}
	free(pattern);
	return count;
}
