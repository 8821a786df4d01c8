/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks for the files of one run; see model.h. */

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "core/report.h"

static bool known;

/* Returns when P's process, or its window, began, in ns since 1970; 0 if that is not known. The
 * time of a profile without a duration is that of the dump, and after an exec the time is that of
 * the exec; a comment says when the process began. */
static int64_t begin_of(const struct ct_profile *p)
{
	for (size_t i = 0; i < p->comment_count; i++) {
		const char *text = ct_notes_comment(p, i);
		long long seconds;
		long nanos;

		if (sscanf(text, "start: %10lld.%9ld s since", &seconds, &nanos) == 2)
			return (int64_t)seconds * 1000000000 + nanos;
	}
	return p->duration_nanos ? p->time_nanos : 0;
}

bool ct_siblings_overlap(const struct ct_profile *a, const struct ct_profile *b)
{
	int64_t a_begin = begin_of(a), b_begin = begin_of(b);

	return (a_begin ? a_begin : a->time_nanos) <= b->time_nanos + b->duration_nanos &&
	       (b_begin ? b_begin : b->time_nanos) <= a->time_nanos + a->duration_nanos;
}

void ct_siblings_are_known(void)
{
	known = true;
}

/* Returns the pattern of FILE.PID with the special characters of FILE escaped. */
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

int64_t ct_siblings_process(const char *text)
{
	static const char digits[] = "0123456789";
	const char *end = text + strspn(text, digits);

	if (end > text && *end == '.' && end[1])
		end += 1 + strspn(end + 1, digits);
	return *end ? 0 : strtoll(text, NULL, 10);
}

/* Number and size of files that are read for their time; the date decides for others. */
#define READ_MAX 16
#define READ_MAX_BYTES (1 << 20)

/* Was PATH written after BEGIN? Then sets *SIZE to its size. */
static bool is_later(const char *path, int64_t begin, off_t *size)
{
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	*size = st.st_size;
	return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec >= begin;
}

/* A copy has a new date, so the time in the profile decides. */
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

/* Returns false if the process of the profile at PATH began before BEGIN, or if PATH is no file.
 * Also, after a message and with one more in *UNREAD, if PATH can't be read. */
static bool may_be_child(const char *path, int64_t begin, size_t *unread)
{
	struct ct_profile *other;
	struct stat st;
	int64_t its;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return false;
	other = ct_read_source(path);
	if (!other) {
		++*unread;
		return false;
	}
	its = begin_of(other);
	ct_model_free(other);
	return !begin || !its || its >= begin;
}

/* Is SOURCE a file? Others have no children, and can't be read twice. */
static bool is_file(const char *source)
{
	struct stat st;

	return strcmp(source, "-") && !ct_input_is_url(source) &&
	       (stat(source, &st) || S_ISREG(st.st_mode));
}

char **ct_siblings_children(const char *file, size_t *count, size_t *unread)
{
	struct ct_profile *p;
	char *pattern, **children;
	glob_t found = { 0 };
	int64_t begin;

	*count = 0;
	if (!is_file(file))
		return ct_memory_alloc(sizeof(*children));
	p = ct_read_source(file);
	if (!p)
		return NULL;
	begin = begin_of(p);
	pattern = ct_siblings_pattern(file);
	if (glob(pattern, 0, NULL, &found))
		found.gl_pathc = 0;
	children = ct_memory_alloc((found.gl_pathc + 1) * sizeof(*children));
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (ct_siblings_process(found.gl_pathv[i] + strlen(file) + 1) &&
		    may_be_child(found.gl_pathv[i], begin, unread))
			children[(*count)++] = ct_memory_strdup(found.gl_pathv[i]);
	globfree(&found);
	free(pattern);
	ct_model_free(p);
	return children;
}

/* SEVERAL: the COUNT files are of more than one process. */
static void say_siblings(const char *path, size_t count, bool several, const char *file)
{
	char *more =
		count > 1 ? ct_memory_printf(" and %zu more", count - 1) : ct_memory_strdup("");
	char *word = ct_out_word(file);
	char *all = count > 1 ? ct_memory_printf("; one file of all: cprof merge -children "
						 "-o ALL.pb %s",
						 word)
			      : ct_memory_strdup("");
	char *text = ct_memory_printf("%s that the profiled one started wrote %s%s%s",
				      several ? "processes" : "a process", path, more, all);

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
	int64_t begin = begin_of(p), first = 0;
	bool several = false;
	off_t most = 0;
	glob_t found;

	if (!begin)
		begin = p->time_nanos;
	if (!known && p->time_nanos && !ct_input_is_url(file) &&
	    !glob(pattern, GLOB_NOSORT, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			const char *path = found.gl_pathv[i];
			int64_t id = ct_siblings_process(path + strlen(file) + 1);
			off_t size;

			if (!id || !is_later(path, begin, &size) ||
			    (size <= READ_MAX_BYTES && read++ < READ_MAX &&
			     !ct_siblings_is_of_run(path, p)))
				continue;
			if (!count++)
				first = id;
			several |= id != first;
			if (!largest || size > most)
				largest = path;
			most = size > most ? size : most;
		}
		if (count)
			say_siblings(largest, count, several, file);
		globfree(&found);
	}
	free(pattern);
	return count;
}
