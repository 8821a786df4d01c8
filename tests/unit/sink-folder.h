/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder for one test, and small tools to look into it. */
#ifndef SINK_FOLDER_H
#define SINK_FOLDER_H

#include <dirent.h>
#include <sys/stat.h>

#include "system.h"

static char folder[64], in_folder[512];

/* Path of NAME in the folder, good until the next call. */
static inline const char *at(const char *name)
{
	snprintf(in_folder, sizeof(in_folder), "%s/%s", folder, name);
	return in_folder;
}

static inline void make_folder(void)
{
	strcpy(folder, "/tmp/test-sink-XXXXXX");
	if (!mkdtemp(folder))
		exit(1);
}

/* How many entries there are; with REMOVE they are removed, and the folder. */
static inline int entries(int remove_all)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int n = 0;

	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		n++;
		if (remove_all && unlink(at(e->d_name)))
			rmdir(at(e->d_name));
	}
	closedir(d);
	if (remove_all)
		rmdir(folder);
	return n;
}

static inline void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
}

/* Content of a small file, "(none)" without one; good until the next call. */
static inline const char *text_of(const char *path)
{
	static char text[256];
	FILE *f = fopen(path, "r");

	if (!f)
		return "(none)";
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

#endif
