/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads files of processes that have ended; see push_ended.h. */
#include "push/push_ended.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "control/control.h"
#include "core/memory.h"
#include "core/read.h"

/* Missing in the headers of glibc 2.31. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

static bool is_ours(int root)
{
	struct stat a, b;

	return root >= 0 && !fstat(root, &a) && !stat("/", &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

void ct_push_ended_open(struct ct_push_ended *e, int pid)
{
	char *path = ct_memory_printf("/proc/%d/root", pid);
	struct stat st;

	e->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(path);
	if (is_ours(e->root)) {
		close(e->root);
		e->root = -1;
	}
	path = ct_memory_printf("/proc/%d", pid);
	e->user = stat(path, &st) ? geteuid() : st.st_uid;
	free(path);
}

void ct_push_ended_close(struct ct_push_ended *e)
{
	if (e->root >= 0)
		close(e->root);
}

/* In another root, links of the path lead to where they lead for the process. */
static int open_file(const struct ct_push_ended *e, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
				.resolve = RESOLVE_IN_ROOT };

	if (!e || e->root < 0)
		return ct_input_reopen_plain(open(path, (int)how.flags));
	return ct_input_reopen_plain((int)syscall(SYS_openat2, e->root, path, &how, sizeof(how)));
}

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

struct ct_profile *ct_push_ended_read(const struct ct_push_ended *e, const char *path)
{
	int fd = open_file(e, path);
	struct ct_profile *p = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (!e || st.st_uid == e->user))
		p = read_fd(fd);
	close(fd);
	return p;
}

struct ct_profile *ct_push_ended_ask(int pid, const char *mode)
{
	struct cp_control_message m;
	int fd = memfd_create("cprof", MFD_CLOEXEC);
	struct ct_profile *p = NULL;
	char *why;

	if (fd < 0)
		return NULL;
	ct_control_request(&m, CP_CONTROL_DUMP);
	ct_control_line(&m, "mode", mode);
	why = ct_control_ask(pid, &m, fd);
	if (!why && !m.result)
		p = read_fd(fd);
	free(why);
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
