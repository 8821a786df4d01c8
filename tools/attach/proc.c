/* SPDX-License-Identifier: BSD-3-Clause */
/* What /proc says of a process and its threads; see attach.h. */
#include "attach/attach.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *ct_proc_read(int pid, int tid, const char *name, char *to, size_t size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	f = fopen(path, "re");
	to[f ? fread(to, 1, size - 1, f) : 0] = '\0';
	if (f)
		fclose(f);
	return to;
}

char *ct_proc_status(int pid, int tid, const char *key)
{
	char text[8192], *line = ct_proc_read(pid, tid, "status", text, sizeof(text));
	size_t n = strlen(key);

	for (; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (!strncmp(line, key, n) && line[n] == ':') {
			line += n + 1 + strspn(line + n + 1, " \t");
			line[strcspn(line, "\n")] = '\0';
			return ct_memory_strdup(line);
		}
	return NULL;
}

long ct_proc_number(int tid, const char *key, int base)
{
	char *text = ct_proc_status(tid, tid, key);
	long n = text ? (long)strtoul(text, NULL, base) : -1;

	free(text);
	return n;
}

int ct_proc_descriptor(int pid, int fd)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0),
	    copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);

	if (process >= 0)
		close(process);
	return copy;
}

unsigned ct_proc_threads(int pid, int **tids, size_t *room)
{
	char *path = ct_memory_printf("/proc/%d/task", pid);
	DIR *d = opendir(path);
	struct dirent *e;
	unsigned count = 0;

	while (d && (e = readdir(d)))
		if (atoi(e->d_name) > 0)
			*CT_PUSH(*tids, count, *room) = atoi(e->d_name);
	if (d)
		closedir(d);
	free(path);
	return count;
}
