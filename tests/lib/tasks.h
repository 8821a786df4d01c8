/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks, as the kernel tells of them.
 */
#ifndef TRAP_TASKS_H
#define TRAP_TASKS_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

/* Of the calling process. */
static inline int count_tasks(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	int n = 0;

	while (tasks && (entry = readdir(tasks)))
		n += entry->d_name[0] != '.';
	if (tasks)
		closedir(tasks);
	return n;
}

/* Returns the state letter of PID's main thread (proc(5)); 0: there is no such thread. */
static inline char task_state(pid_t pid)
{
	char path[32], line[512] = "";
	const char *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	end = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return end && end[1] ? end[2] : 0;
}

#endif
