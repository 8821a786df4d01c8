/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads files of processes that have ended; see push.h. */
#include "push/push.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/core.h"
#include "core/read.h"

static struct ct_profile *read_fd(int fd)
{
	char *path = ct_memory_printf("/proc/self/fd/%d", fd);
	struct ct_fault fault = { 0 };
	struct ct_profile *p = NULL;
	struct ct_input *in = NULL;

	if (!ct_input_open(&in, path, &fault) && ct_read(&p, in, &fault))
		p = NULL;
	if (in)
		ct_input_close(in);
	free(path);
	return p;
}

struct ct_profile *ct_push_ended_read(const char *path)
{
	int fd = ct_input_reopen_plain(open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW));
	struct ct_profile *p = fd < 0 ? NULL : read_fd(fd);

	if (fd >= 0)
		close(fd);
	return p;
}

/* ---- what a file tells ---- */

/* "# libcprof 0.1.0, mode cpu, pid 15591, ...": what follows WORD, up to a comma. */
static char *told(const struct ct_profile *p, const char *word)
{
	for (size_t i = 0; i < p->comment_count; i++) {
		const char *line = ct_text(p, p->comments[i]), *at;

		if (strncmp(line, "# libcprof ", 11))
			continue;
		at = strstr(line, word);
		if (at)
			return ct_memory_printf("%.*s", (int)strcspn(at + strlen(word), ","),
						at + strlen(word));
	}
	return NULL;
}

char *ct_push_ended_mode(const struct ct_profile *p)
{
	return told(p, ", mode ");
}

int ct_push_ended_pid(const struct ct_profile *p)
{
	char *text = told(p, ", pid ");
	int pid = text ? atoi(text) : 0;

	free(text);
	return pid;
}

char *ct_push_ended_program(const struct ct_profile *p)
{
	const char *file = p->mapping_count ? ct_text(p, p->mappings[0].file) : "", *slash;

	slash = strrchr(file, '/');
	return ct_memory_strdup(slash ? slash + 1 : *file ? file : "unknown");
}
